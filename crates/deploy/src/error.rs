//! Errors as one line: what failed, then the message of the API server.

/// The causes of an error, joined, without those that the one before contains. The message of the API server is the last one:
/// kube repeats it with its fields.
pub(crate) fn line(error: &anyhow::Error) -> String {
    // The outermost message is ours, and may have several lines.
    let mut causes = vec![error.to_string()];
    for cause in error.chain().skip(1) {
        if let Some(kube::Error::Api(status)) = cause.downcast_ref() {
            let message = Some(&status.message).filter(|message| !message.is_empty());
            causes.push(in_one_line(message.unwrap_or(&status.reason)));
            break;
        }
        let cause = in_one_line(&cause.to_string());
        if causes.last().is_none_or(|before| !before.contains(&cause)) {
            causes.push(cause);
        }
    }
    causes.join(": ")
}

/// Without line breaks, as in messages of container runtimes.
pub(crate) fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether the API server rejects the user, so that no further attempt can succeed.
pub(crate) fn is_denied(error: &anyhow::Error) -> bool {
    let status = error.chain().find_map(|cause| match cause.downcast_ref() {
        Some(kube::Error::Api(status)) => Some(status.code),
        _ => None,
    });
    matches!(status, Some(401 | 403))
}

/// The first of several errors, and how many others there are.
///
/// # Panics
///
/// If there is none.
pub(crate) fn first(errors: &[anyhow::Error]) -> String {
    let first = line(&errors[0]);
    match errors.len() {
        1 => first,
        count => format!("{first} (and {} further errors)", count - 1),
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn the_message_of_the_api_server_is_repeated_neither_nor_broken_into_lines() {
        let status = Status::failure("denied:\n  {Verbs}", "Forbidden");
        let error = anyhow::Error::new(kube::Error::Api(Box::new(status))).context("cannot apply a");
        assert_eq!(
            line(&error.context("nothing was applied")),
            "nothing was applied: cannot apply a: denied: {Verbs}"
        );
    }
}
