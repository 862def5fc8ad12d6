//! Deletion of an object: immediately, after a grace period, or after the last finalizer is removed.

use std::sync::Arc;

use jiff::SignedDuration;
use k8s_openapi::{
    api::core::v1::Pod,
    apimachinery::pkg::apis::meta::v1::{DeleteOptions, ObjectMeta, Time},
};

use crate::{
    any_kind::AnyKind,
    handlers::now,
    namespaces,
    object::Object,
    resources::{Resource, Table},
    status::ApiError,
    store::Store,
};

/// The finalizer of propagation policy Orphan: dependents lose their ownerReference first.
pub(crate) const ORPHAN: &str = "orphan";
/// The finalizer of propagation policy Foreground: dependents are deleted first.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";

/// Result of a delete request.
#[derive(Debug)]
pub(crate) enum DeleteOutcome {
    /// The object was removed; it has the revision of the deletion.
    Removed(Arc<Object>),
    /// The object remains with a deletionTimestamp.
    Terminating(Arc<Object>),
}

/// The effective grace period. Only pods have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GracePeriod {
    None,
    /// An earlier deletion has set a period that is not longer.
    Unchanged,
    Seconds(i64),
}

/// Removes an object, or marks it as terminating. The caller runs [`Store::process_deletions`] afterwards.
pub(crate) fn delete(
    store: &mut Store,
    resource: &Resource,
    key: &str,
    options: &DeleteOptions,
) -> Result<DeleteOutcome, ApiError> {
    let table = resource.table;
    let name = key.rsplit('/').next().unwrap_or(key);
    let existing = store
        .get(table, key)
        .ok_or_else(|| ApiError::not_found(resource, name))?;
    check_preconditions(resource, &existing, options)?;
    if table == Table::Namespaces {
        return namespaces::delete(store, &existing);
    }
    let mut object = Store::decode(&existing, table)?;
    let grace_period = grace_period(&*object, options);
    let metadata = object.metadata_mut();
    metadata.finalizers = finalizers(metadata, options);
    let has_finalizers = metadata.finalizers.is_some();
    match grace_period {
        GracePeriod::Unchanged => return Ok(DeleteOutcome::Terminating(existing)),
        GracePeriod::None if !has_finalizers => return remove(store, table, key, existing),
        GracePeriod::None => set_deletion_timestamp(metadata, 0),
        GracePeriod::Seconds(seconds) => set_deletion_timestamp(metadata, seconds),
    }
    let object = store.put_changed(table, &mut *object, &existing)?;
    if has_finalizers {
        store.terminating.push_back((table, key.into()));
    }
    if has_finalizers || matches!(grace_period, GracePeriod::Seconds(1..)) {
        Ok(DeleteOutcome::Terminating(object))
    } else {
        remove(store, table, key, object)
    }
}

fn remove(store: &mut Store, table: Table, key: &str, object: Arc<Object>) -> Result<DeleteOutcome, ApiError> {
    Ok(DeleteOutcome::Removed(store.remove(table, key)?.unwrap_or(object)))
}

/// Checks the preconditions uid and resourceVersion.
pub(crate) fn check_preconditions(
    resource: &Resource,
    existing: &Object,
    options: &DeleteOptions,
) -> Result<(), ApiError> {
    let Some(preconditions) = &options.preconditions else {
        return Ok(());
    };
    let stored = existing.revision.to_string();
    let expected = [
        ("UID", &preconditions.uid, &*existing.uid),
        ("ResourceVersion", &preconditions.resource_version, &stored),
    ];
    for (field, expected, stored) in expected {
        if let Some(expected) = expected.as_deref().filter(|expected| *expected != stored) {
            let reason = format!("its {field} is {stored}, not {expected}");
            return Err(ApiError::precondition(resource, &existing.name, &reason));
        }
    }
    Ok(())
}

fn grace_period(object: &dyn AnyKind, options: &DeleteOptions) -> GracePeriod {
    let Some(pod) = object.as_any().downcast_ref::<Pod>() else {
        return GracePeriod::None;
    };
    let requested = options
        .grace_period_seconds
        .map(|seconds| if seconds < 0 { 1 } else { seconds });
    if pod.metadata.deletion_timestamp.is_some() {
        return match (pod.metadata.deletion_grace_period_seconds, requested) {
            (None | Some(0), _) => GracePeriod::None,
            (Some(current), Some(requested)) if requested < current => GracePeriod::Seconds(requested),
            _ => GracePeriod::Unchanged,
        };
    }
    GracePeriod::Seconds(pod.grace_seconds(requested))
}

/// Sets deletionTimestamp and deletionGracePeriodSeconds.
fn set_deletion_timestamp(metadata: &mut ObjectMeta, grace_seconds: i64) {
    let now = now();
    let after = |time: &Time, seconds: i64| Time(time.0 + SignedDuration::from_secs(seconds));
    let mut grace_seconds = grace_seconds;
    let at = match (&metadata.deletion_timestamp, metadata.deletion_grace_period_seconds) {
        (None, _) => {
            metadata.generation = metadata.generation.map(|generation| generation + 1);
            after(&now, grace_seconds)
        }
        (Some(at), None | Some(0)) => at.clone(),
        // A shortened period never ends in the past.
        (Some(at), Some(current)) => {
            let at = after(at, grace_seconds - current);
            if at < now && grace_seconds > 0 {
                grace_seconds = 1;
            }
            at.max(now)
        }
    };
    metadata.deletion_timestamp = Some(at);
    metadata.deletion_grace_period_seconds = Some(grace_seconds);
}

/// The finalizers of the object, with the garbage collector finalizer of the requested propagation policy.
fn finalizers(metadata: &ObjectMeta, options: &DeleteOptions) -> Option<Vec<String>> {
    let existing: Vec<&str> = metadata.finalizers.iter().flatten().map(String::as_str).collect();
    let policy = options.propagation_policy.as_deref();
    let orphan = match (policy, options.orphan_dependents) {
        (Some(policy), _) => policy == "Orphan",
        (None, Some(orphan)) => orphan,
        (None, None) => existing.contains(&ORPHAN),
    };
    let foreground = match (policy, options.orphan_dependents) {
        (Some(policy), _) => policy == "Foreground",
        (None, Some(_)) => false,
        (None, None) => existing.contains(&FOREGROUND),
    };
    let others = existing
        .into_iter()
        .filter(|finalizer| !matches!(*finalizer, ORPHAN | FOREGROUND));
    let added = [(orphan, ORPHAN), (foreground, FOREGROUND)];
    let added = added
        .into_iter()
        .filter(|(requested, _)| *requested)
        .map(|(_, finalizer)| finalizer);
    Some(others.chain(added).map(Into::into).collect()).filter(|finalizers: &Vec<String>| !finalizers.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(text: &str) -> Pod {
        serde_json::from_str(text).unwrap()
    }

    fn with_grace_period(seconds: Option<i64>) -> DeleteOptions {
        DeleteOptions {
            grace_period_seconds: seconds,
            ..DeleteOptions::default()
        }
    }

    #[test]
    fn grace_periods_of_pods() {
        let running = r#"{"spec":{"containers":[],"nodeName":"n","terminationGracePeriodSeconds":30}}"#;
        let terminating =
            r#"{"metadata":{"deletionTimestamp":"2020-01-01T00:00:20Z","deletionGracePeriodSeconds":20}}"#;
        for (text, seconds, expected) in [
            (running, None, GracePeriod::Seconds(30)),
            (running, Some(5), GracePeriod::Seconds(5)),
            (running, Some(-5), GracePeriod::Seconds(1)),
            (running, Some(0), GracePeriod::Seconds(0)),
            (terminating, None, GracePeriod::Unchanged),
            (terminating, Some(20), GracePeriod::Unchanged),
            (terminating, Some(10), GracePeriod::Seconds(10)),
        ] {
            assert_eq!(
                grace_period(&pod(text), &with_grace_period(seconds)),
                expected,
                "{text} {seconds:?}"
            );
        }
    }

    #[test]
    fn propagation_policy_sets_the_finalizers() {
        let policy = |policy: &str| DeleteOptions {
            propagation_policy: Some(policy.into()),
            ..DeleteOptions::default()
        };
        let with = |finalizers: &[&str]| ObjectMeta {
            finalizers: Some(finalizers.iter().map(ToString::to_string).collect()),
            ..ObjectMeta::default()
        };
        for (existing, options, expected) in [
            (with(&[]), policy("Background"), None),
            (with(&[]), policy("Orphan"), Some(vec!["orphan"])),
            (
                with(&["a/b"]),
                policy("Foreground"),
                Some(vec!["a/b", "foregroundDeletion"]),
            ),
            (with(&["orphan"]), policy("Background"), None),
            (with(&["orphan"]), DeleteOptions::default(), Some(vec!["orphan"])),
        ] {
            let expected = expected.map(|list| list.into_iter().map(String::from).collect::<Vec<_>>());
            assert_eq!(finalizers(&existing, &options), expected);
        }
    }
}
