//! Server-side apply of the objects.

use anyhow::Context as _;
use kube::{
    Client,
    api::{DynamicObject, Patch, PatchParams, ValidationDirective},
};

use crate::{objects::Object, print_object};

/// The field manager of the objects.
const FIELD_MANAGER: &str = "endpointslice-rs";

/// Fields of ours that others have changed are ours again; fields of others remain.
fn params() -> PatchParams {
    PatchParams {
        field_validation: Some(ValidationDirective::Strict),
        ..PatchParams::apply(FIELD_MANAGER).force()
    }
}

/// Applies the objects in their order. A dry run only prints what would change.
pub(crate) async fn run(client: &Client, objects: &[Object], dry_run: bool) -> anyhow::Result<()> {
    for (applied, object) in objects.iter().enumerate() {
        let result = apply(client, object, dry_run).await;
        let result = result.with_context(|| {
            if dry_run {
                return "nothing was applied".to_owned();
            }
            format!(
                "{applied} of {} objects were applied; run the command again to apply the others, or with --delete to remove them",
                objects.len()
            )
        })?;
        print_object(object, result);
    }
    Ok(())
}

/// Asks the API server whether it would accept an object.
pub(crate) async fn try_apply(client: &Client, object: &Object) -> anyhow::Result<()> {
    patch(client, object, true).await.map(|_| ())
}

async fn apply(client: &Client, object: &Object, dry_run: bool) -> anyhow::Result<&'static str> {
    let before = object.api(client).get_opt(&object.name).await;
    let before = before.with_context(|| format!("cannot read {object}"))?;
    let dry = |would, did| if dry_run { would } else { did };
    let Some(before) = before else {
        // In a dry run the namespace may not exist yet.
        if !dry_run {
            patch(client, object, false).await?;
        }
        return Ok(dry("would be created", "created"));
    };
    let after = patch(client, object, dry_run).await?;
    Ok(if is_same(&before, &after) {
        "unchanged"
    } else {
        dry("would be changed", "changed")
    })
}

/// Whether an apply changed nothing. A dry run does not change the resourceVersion, and neither apply is without effect on times
/// in managedFields.
fn is_same(before: &DynamicObject, after: &DynamicObject) -> bool {
    let content = |object: &DynamicObject| {
        let mut object = object.clone();
        object.metadata.managed_fields = None;
        object.metadata.resource_version = None;
        object
    };
    content(before) == content(after)
}

async fn patch(client: &Client, object: &Object, dry_run: bool) -> anyhow::Result<DynamicObject> {
    let params = PatchParams { dry_run, ..params() };
    let applied = object
        .api(client)
        .patch(&object.name, &params, &Patch::Apply(&object.content))
        .await;
    applied.with_context(|| format!("cannot apply {object}"))
}
