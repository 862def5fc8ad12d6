use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;

use super::*;

fn api_error(code: i32) -> RequestError {
    RequestError::Api(ApiError::from_event(Status {
        code: Some(code),
        ..Status::default()
    }))
}

/// The highest observed resourceVersion is kept when the resume version is cleared (I11, F15).
#[test]
fn a_stale_list_is_detected_after_the_version_was_forgotten() {
    let mut resume = ResumeState::default();
    assert_eq!(resume.older_than_seen("1"), None);
    resume.advance("7");
    resume.relist(ListReason::Expired);
    assert_eq!(resume.resource_version(), None);
    assert_eq!(
        ["6", "7", "10"].map(|version| resume.older_than_seen(version)),
        [Some(7), None, None]
    );
}

/// A watch from an empty resourceVersion starts with the current state and misses deletions before it.
#[test]
fn an_empty_version_is_ignored_and_an_opaque_one_is_used_as_it_is() {
    let mut resume = ResumeState::default();
    resume.advance("");
    assert_eq!((resume.resource_version(), resume.highest_seen()), (None, None));
    resume.advance("7");
    resume.advance("");
    assert_eq!((resume.resource_version(), resume.highest_seen()), (Some("7"), Some(7)));
    resume.advance("opaque");
    assert_eq!(
        (resume.resource_version(), resume.highest_seen()),
        (Some("opaque"), Some(7))
    );
}

/// A server may answer every streaming list with an error although it lists and watches (F10).
#[test]
fn failed_streaming_list_falls_back_to_pages_unless_the_error_is_about_something_else() {
    for (code, pages, for_good) in [
        (400, true, true),
        (422, true, true),
        (403, true, false),
        (500, true, false),
        (503, true, false),
        (401, false, false),
        (429, false, false),
    ] {
        let mut resume = ResumeState::default();
        assert_eq!(resume.fall_back_to_paging(&api_error(code)), pages, "{code}");
        assert_eq!(resume.uses_streaming_list(), !pages, "{code}");
        assert!(
            !pages || !resume.fall_back_to_paging(&api_error(code)),
            "{code}: an error of a paged list is an ordinary error"
        );
        resume.advance("1");
        resume.start_epoch();
        assert_eq!(resume.uses_streaming_list(), !for_good, "{code}: after a complete list");
    }
}

#[test]
fn streaming_lists_without_a_response_fall_back_to_pages_after_some_failures() {
    let mut resume = ResumeState::default();
    let lost = || RequestError::transport(std::io::Error::other("connection reset"));
    for _ in 0..FAILURES_BEFORE_PAGING {
        assert!(!resume.fall_back_to_paging(&lost()));
        assert!(resume.uses_streaming_list());
        resume.next_backoff(None, 0.0);
    }
    assert!(!resume.fall_back_to_paging(&lost()), "backs off first");
    assert!(!resume.uses_streaming_list());
}

#[test]
fn backoff_grows_up_to_the_cap_and_progress_resets_it() {
    let mut resume = ResumeState::default();
    let delays: Vec<_> = (0..40).map(|_| resume.next_backoff(None, 1.0)).collect();
    assert_eq!(
        (delays[0], delays[1], delays[39]),
        (BACKOFF_BASE, 2 * BACKOFF_BASE, BACKOFF_CAP)
    );
    resume.advance("1");
    assert_eq!(resume.next_backoff(None, 0.0), BACKOFF_BASE / 2);
    assert_eq!(
        resume.next_backoff(Some(Duration::from_secs(30)), 0.0),
        Duration::from_secs(30)
    );
}

/// The version of a paged list is known before any of its objects is applied (I11).
#[test]
fn relists_are_paged() {
    let mut resume = ResumeState::default();
    assert!(resume.uses_streaming_list());
    resume.advance("7");
    resume.relist(ListReason::Expired);
    assert!(!resume.uses_streaming_list());
}

/// A resourceVersion that the server keeps rejecting is forgotten; credentials, load and lost connections are no reason.
#[test]
fn five_rejections_in_a_row_lead_to_a_relist() {
    for (code, relists) in [
        (Some(500), true),
        (Some(400), true),
        (None, true),
        (Some(403), false),
        (Some(401), false),
        (Some(429), false),
    ] {
        let mut resume = ResumeState::default();
        resume.advance("7");
        let error = code.map(api_error);
        let reject = |resume: &mut ResumeState| resume.reject(error.as_ref().and_then(RequestError::api_error));
        for _ in 0..4 {
            assert!(!reject(&mut resume), "{code:?}");
        }
        resume.advance("8");
        for _ in 0..4 {
            assert!(!reject(&mut resume), "{code:?}: in a row");
        }
        assert_eq!(reject(&mut resume), relists, "{code:?}");
        assert_eq!(resume.resource_version().is_none(), relists, "{code:?}");
        assert_eq!(resume.list_reason() == ListReason::Failed, relists, "{code:?}");
    }
}

#[test]
fn failures_and_silent_watches_make_a_new_epoch_suspect() {
    let mut resume = ResumeState::default();
    resume.advance("7");
    for _ in 0..2 {
        resume.watch_ended(false, false);
        assert!(!resume.suspects_new_epoch());
    }
    resume.watch_ended(true, false);
    resume.watch_ended(false, false);
    assert!(!resume.suspects_new_epoch(), "in a row");
    resume.next_backoff(None, 0.0);
    assert!(resume.suspects_new_epoch());
    resume.reset_backoff();
    for _ in 0..2 {
        resume.watch_ended(false, false);
    }
    assert!(resume.suspects_new_epoch());
}

#[test]
fn a_new_epoch_forgets_what_was_seen() {
    let mut resume = ResumeState::default();
    resume.advance("7");
    resume.start_epoch();
    assert_eq!((resume.resource_version(), resume.highest_seen()), (None, None));
    assert_eq!(
        (resume.older_than_seen("3"), resume.list_reason()),
        (None, ListReason::Epoch)
    );
    assert!(resume.uses_streaming_list());
}
