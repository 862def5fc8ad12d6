//! How an object goes away: at once, after a grace period, or when its last finalizer is gone.

use std::sync::Arc;

use jiff::SignedDuration;
use k8s_openapi::{
    api::core::v1::Pod,
    apimachinery::pkg::apis::meta::v1::{DeleteOptions, ObjectMeta, Time},
};

use crate::{
    erased::AnyKind,
    handlers::now,
    namespaces,
    object::Object,
    resources::{Resource, Table},
    status::ApiError,
    store::Store,
};

/// The finalizer of an object that waits until its dependents no longer name it as their owner.
pub(crate) const ORPHAN: &str = "orphan";
/// The finalizer of an object that waits until its dependents are gone.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";

/// What became of an object that was to be deleted.
#[derive(Debug)]
pub(crate) enum Deleted {
    /// It is gone; this is how it was, under the version of the deletion.
    Gone(Arc<Object>),
    /// It is still there and waits.
    Waits(Arc<Object>),
}

/// What the grace period of a pod comes to. Other objects have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grace {
    None,
    /// An earlier deletion has already set one that is as short.
    Pending,
    Seconds(i64),
}

/// Deletes an object as far as it can be deleted now. The consequences are drawn by [`Store::settle`].
pub(crate) fn delete(
    store: &mut Store,
    resource: &Resource,
    key: &str,
    options: &DeleteOptions,
) -> Result<Deleted, ApiError> {
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
    let grace = grace(&*object, options);
    let metadata = object.metadata_mut();
    metadata.finalizers = finalizers(metadata, options);
    let held = metadata.finalizers.is_some();
    match grace {
        Grace::Pending => return Ok(Deleted::Waits(existing)),
        Grace::None if !held => return gone(store, table, key, existing),
        Grace::None => mark(metadata, 0),
        Grace::Seconds(seconds) => mark(metadata, seconds),
    }
    let object = store.put_changed(table, &mut *object, &existing)?;
    if held {
        store.marked.push_back((table, key.into()));
    }
    if held || matches!(grace, Grace::Seconds(1..)) {
        Ok(Deleted::Waits(object))
    } else {
        gone(store, table, key, object)
    }
}

fn gone(store: &mut Store, table: Table, key: &str, object: Arc<Object>) -> Result<Deleted, ApiError> {
    Ok(Deleted::Gone(store.remove(table, key)?.unwrap_or(object)))
}

/// Whether what the client expects of the object is so.
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
    for (what, expected, stored) in expected {
        if let Some(expected) = expected.as_deref().filter(|expected| *expected != stored) {
            let why = format!("its {what} is {stored}, not {expected}");
            return Err(ApiError::precondition(resource, &existing.name, &why));
        }
    }
    Ok(())
}

fn grace(object: &dyn AnyKind, options: &DeleteOptions) -> Grace {
    let Some(pod) = object.as_any().downcast_ref::<Pod>() else {
        return Grace::None;
    };
    let asked = options
        .grace_period_seconds
        .map(|seconds| if seconds < 0 { 1 } else { seconds });
    if pod.metadata.deletion_timestamp.is_some() {
        return match (pod.metadata.deletion_grace_period_seconds, asked) {
            (None | Some(0), _) => Grace::None,
            (Some(current), Some(asked)) if asked < current => Grace::Seconds(asked),
            _ => Grace::Pending,
        };
    }
    Grace::Seconds(pod.grace(asked))
}

/// Notes in the metadata that the object is being deleted.
fn mark(metadata: &mut ObjectMeta, grace_seconds: i64) {
    let now = now();
    let after = |time: &Time, seconds: i64| Time(time.0 + SignedDuration::from_secs(seconds));
    let mut grace_seconds = grace_seconds;
    let at = match (&metadata.deletion_timestamp, metadata.deletion_grace_period_seconds) {
        (None, _) => {
            metadata.generation = metadata.generation.map(|generation| generation + 1);
            after(&now, grace_seconds)
        }
        (Some(at), None | Some(0)) => at.clone(),
        // The period is shortened; it cannot end in the past.
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

/// The finalizers with those that the wanted way of deletion needs, and without those of another way.
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
    let kept = existing
        .into_iter()
        .filter(|finalizer| !matches!(*finalizer, ORPHAN | FOREGROUND));
    let added = [(orphan, ORPHAN), (foreground, FOREGROUND)];
    let added = added
        .into_iter()
        .filter(|(wanted, _)| *wanted)
        .map(|(_, finalizer)| finalizer);
    Some(kept.chain(added).map(Into::into).collect()).filter(|finalizers: &Vec<String>| !finalizers.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(text: &str) -> Pod {
        serde_json::from_str(text).unwrap()
    }

    fn asked(seconds: Option<i64>) -> DeleteOptions {
        DeleteOptions {
            grace_period_seconds: seconds,
            ..DeleteOptions::default()
        }
    }

    #[test]
    fn grace_periods_of_pods() {
        let running = r#"{"spec":{"containers":[],"nodeName":"n","terminationGracePeriodSeconds":30}}"#;
        let going = r#"{"metadata":{"deletionTimestamp":"2020-01-01T00:00:20Z","deletionGracePeriodSeconds":20}}"#;
        for (text, seconds, expected) in [
            (running, None, Grace::Seconds(30)),
            (running, Some(5), Grace::Seconds(5)),
            (running, Some(-5), Grace::Seconds(1)),
            (running, Some(0), Grace::Seconds(0)),
            (going, None, Grace::Pending),
            (going, Some(20), Grace::Pending),
            (going, Some(10), Grace::Seconds(10)),
        ] {
            assert_eq!(grace(&pod(text), &asked(seconds)), expected, "{text} {seconds:?}");
        }
    }

    #[test]
    fn the_way_of_deletion_chooses_the_finalizers() {
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
