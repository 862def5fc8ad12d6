//! Errors as one line: what failed, then the message of the API server.

/// The causes of an error, joined, without those that the one before contains. The message of the API server is the last one:
/// kube repeats it with its fields.
pub(crate) fn line(error: &anyhow::Error) -> String {
    let mut causes: Vec<String> = Vec::new();
    for cause in error.chain() {
        if let Some(kube::Error::Api(status)) = cause.downcast_ref() {
            let words: Vec<_> = status.message.split_whitespace().collect();
            causes.push(words.join(" "));
            break;
        }
        let cause = cause.to_string();
        if causes.last().is_none_or(|before| !before.contains(&cause)) {
            causes.push(cause);
        }
    }
    causes.join(": ")
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
        count => format!("{first} (and {} more of this kind)", count - 1),
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
