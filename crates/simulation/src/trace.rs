//! Prints what happens in a play.

use k8s_openapi::api::discovery::v1::EndpointSlice;
use slice_controller::ObjectRef;
use slice_reconciler::Operation;
use slice_runtime::simulation::Response;

use crate::engine::Event;

/// Whether events, plans and responses are printed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trace(pub(crate) bool);

impl Trace {
    pub(crate) fn print(self, line: impl FnOnce() -> String) {
        if self.0 {
            println!("     {}", line());
        }
    }
}

pub(crate) fn describe_event(event: &Event) -> String {
    match event {
        Event::Apply(object) => format!("apply {} {}", object.name(), at(&object.object_ref())),
        Event::Delete(object) => format!("delete {} {}", object.name, at(object)),
        Event::NewEpoch => "new epoch".to_owned(),
        Event::Init => "init".to_owned(),
        Event::InitDone(version) => format!("init done at version {version}"),
        Event::InitFailed => "init failed".to_owned(),
        Event::Undecodable(object) => format!("undecodable {} {}", object.name, at(object)),
        Event::CaughtUp(term) => format!("caught up with term {term}"),
        Event::Overloaded(retry_after) => format!("overloaded, retry after {retry_after:?}"),
    }
}

fn at(object: &ObjectRef) -> String {
    format!("({} at version {})", object.uid, object.resource_version)
}

/// An operation with the version that it is based on.
pub(crate) fn describe(operation: &Operation) -> String {
    let version = match operation {
        Operation::Create(_) => return operation.to_string(),
        Operation::Update(slice) => slice.metadata.resource_version.as_deref(),
        Operation::Delete(deletion) => deletion.resource_version.as_deref(),
    };
    format!("{operation} from version {}", version.unwrap_or_default())
}

pub(crate) fn describe_response(response: &Response) -> String {
    let of = |slice: &EndpointSlice| {
        let labels = slice.metadata.labels.clone().unwrap_or_default();
        format!("{} with the labels {labels:?}", at(&ObjectRef::from(&slice.metadata)))
    };
    match response {
        Response::Stored(slice) => format!("stored {}", of(slice)),
        Response::Conflict(Some(live)) => format!("conflict with {}", of(live)),
        other => format!("{other:?}"),
    }
}
