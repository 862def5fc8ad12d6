//! A complete controller and its test, without a runtime: watched objects are decoded and applied, then enqueued keys are synced.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use slice_controller::{
    Controller, Enqueued, Event, EventContext, Key, ObjectRef, ObjectStore, SyncContext, SyncError, SyncResult,
    WatchSpec,
};
use slice_reconciler::{EndpointSpec, Owner, Partition, Port, Reconciler, Rejected, plan_deletion};

#[derive(Deserialize)]
struct Service {
    metadata: ObjectMeta,
}

/// Publishes the address in an annotation of each Service.
struct AddressController {
    reconciler: Reconciler,
    services: ObjectStore<ObjectMeta>,
}

impl Controller for AddressController {
    type WatchId = ();
    type Object = ObjectMeta;

    fn watches(&self) -> Vec<WatchSpec<(), ObjectMeta>> {
        vec![WatchSpec::new((), "v1", "services", |service: Service| service.metadata).metadata_only()]
    }

    fn apply(&mut self, service: ObjectMeta, context: &mut EventContext) {
        context.enqueue_all(self.services.apply(Key::from(&service), service));
    }

    fn delete(&mut self, _watch: (), service: &ObjectRef, context: &mut EventContext) {
        context.enqueue_all(self.services.delete(Key::from(service)));
    }

    fn sync(&mut self, key: &Key, context: &SyncContext<'_>) -> Result<SyncResult, SyncError> {
        let Some(service) = self.services.get(key) else {
            return Ok(plan_deletion(context.existing, Partition::default()).into());
        };
        let address = service
            .annotations
            .as_ref()
            .and_then(|annotations| annotations.get("example.com/address"));
        let endpoints = address.map(|address| EndpointSpec::new(address).ready(true));
        let owner = Owner::from_meta("v1", "Service", service);
        let desired = [([Port::tcp("http", 80)], endpoints)];
        let plan = self
            .reconciler
            .plan_slices(owner, desired, context.existing, context.reserved_names)?;
        let warning = |rejected: &Rejected| Event::warning(&owner, "NotPublished", rejected.to_string());
        let events = plan.rejected.iter().map(warning).collect();
        Ok(SyncResult {
            plan,
            events,
            requeue_after: None,
        })
    }
}

#[test]
fn address_is_published_and_an_invalid_one_is_reported() {
    let mut controller = AddressController {
        reconciler: Reconciler::builder("address.example.com").build(),
        services: ObjectStore::default(),
    };
    let mut context = EventContext::default();
    for (address, writes, events) in [("10.0.0.1", 1, 0), ("invalid", 0, 1)] {
        let service = format!(
            r#"{{"metadata": {{"namespace": "shop", "name": "db", "uid": "51fe",
                "annotations": {{"example.com/address": "{address}"}}}}}}"#
        );
        let decoded = controller.watches()[0].decode(service.as_bytes()).unwrap();
        controller.apply(decoded.object, &mut context);
        let [Enqueued { key, .. }] = &context.take_enqueued()[..] else {
            panic!("one key is enqueued");
        };
        let result = controller.sync(key, &SyncContext::default()).unwrap();
        let counts = (result.plan.writes.len(), result.events.len());
        assert_eq!(counts, (writes, events), "{address}");
    }
}
