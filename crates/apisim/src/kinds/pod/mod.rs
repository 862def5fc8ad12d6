//! Pods: generation, status updates, warnings, grace period.

mod defaults;
mod qos;

use k8s_openapi::api::core::v1::{Pod, PodSpec, PodStatus};

use self::qos::qos_class;
use super::{ClusterIps, Kind};
use crate::validation::{
    FieldError, addresses::ip_warning, metadata, names::dns1123_label, path::Path, pod, pod_update,
};

impl Kind for Pod {
    fn set_defaults(&mut self) {
        metadata::drop_empty(&mut self.metadata);
        defaults::default_spec(self.spec.get_or_insert_default());
        defaults::default_status(self.status.get_or_insert_default());
    }

    fn prepare_create(&mut self, _cluster_ips: &mut ClusterIps) {
        self.metadata.generation = Some(1);
        let spec = self.spec.get_or_insert_default();
        self.status = Some(PodStatus {
            phase: Some("Pending".to_owned()),
            qos_class: Some(qos_class(spec).to_owned()),
            ..Default::default()
        });
    }

    fn prepare_update(&mut self, old: &Self) {
        self.status.clone_from(&old.status);
        let [new_spec, old_spec] = [&*self, old].map(|pod| pod.spec.clone().unwrap_or_default());
        let changed = !pod_update::same_spec(&new_spec, &old_spec);
        let generation = old.metadata.generation.unwrap_or_default() + i64::from(changed);
        self.metadata.generation = Some(generation);
    }

    fn prepare_status_update(&mut self, old: &Self) {
        metadata::keep_generation(&mut self.metadata, &old.metadata);
        self.spec.clone_from(&old.spec);
        self.metadata.deletion_timestamp = None;
        self.metadata
            .owner_references
            .clone_from(&old.metadata.owner_references);
        let status = self.status.get_or_insert_default();
        if let Some(old) = &old.status {
            preserve_omitted_fields(status, old);
        }
    }

    fn validate(&self) -> Vec<FieldError> {
        pod::validate(self)
    }

    fn validate_update(&self, old: &Self) -> Vec<FieldError> {
        pod::validate_update(self, old)
    }

    fn warnings(&self, old: Option<&Self>) -> Vec<String> {
        match old {
            None => name_warning(self).into_iter().collect(),
            Some(old) if self.status != old.status => address_warnings(self),
            Some(_) => Vec::new(),
        }
    }

    fn selectable_fields(&self) -> Vec<(&'static str, String)> {
        let (no_spec, no_status) = (PodSpec::default(), PodStatus::default());
        let spec = self.spec.as_ref().unwrap_or(&no_spec);
        let status = self.status.as_ref().unwrap_or(&no_status);
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        vec![
            ("spec.nodeName", text(&spec.node_name)),
            ("spec.restartPolicy", text(&spec.restart_policy)),
            ("spec.schedulerName", text(&spec.scheduler_name)),
            ("spec.serviceAccountName", text(&spec.service_account_name)),
            ("spec.hostNetwork", spec.host_network.unwrap_or_default().to_string()),
            ("status.phase", text(&status.phase)),
            ("status.podIP", text(&status.pod_ip)),
            ("status.nominatedNodeName", text(&status.nominated_node_name)),
        ]
    }

    /// A pod without a node or in a terminal phase has no grace period.
    fn grace_seconds(&self, requested: Option<i64>) -> i64 {
        let spec = self.spec.as_ref();
        let seconds = requested.or_else(|| spec.and_then(|spec| spec.termination_grace_period_seconds));
        let unassigned = spec
            .and_then(|spec| spec.node_name.as_ref())
            .is_none_or(String::is_empty);
        let phase = self.status.as_ref().and_then(|status| status.phase.as_deref());
        if unassigned || matches!(phase, Some("Failed" | "Succeeded")) {
            return 0;
        }
        match seconds.unwrap_or_default() {
            negative if negative < 0 => 1,
            seconds => seconds,
        }
    }
}

/// Copies fields that the client omitted from the old status.
fn preserve_omitted_fields(status: &mut PodStatus, old: &PodStatus) {
    status.qos_class = status.qos_class.take().or_else(|| old.qos_class.clone());
    status.observed_generation = status.observed_generation.or(old.observed_generation);
    for condition in status.conditions.iter_mut().flatten() {
        let old_condition = old.conditions.iter().flatten().find(|old| old.type_ == condition.type_);
        let old_generation = old_condition.and_then(|old| old.observed_generation);
        condition.observed_generation = condition.observed_generation.or(old_generation);
    }
}

fn name_warning(pod: &Pod) -> Option<String> {
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    let messages = dns1123_label(name);
    (!messages.is_empty()).then(|| {
        let reason = messages.join(", ");
        format!("metadata.name: becomes the hostname of the pod, for which it is unfit: {reason}")
    })
}

fn address_warnings(pod: &Pod) -> Vec<String> {
    let Some(status) = &pod.status else {
        return Vec::new();
    };
    let path = Path::new("status");
    let (pod_path, host_path) = (path.child("podIPs"), path.child("hostIPs"));
    let pod_ips = status.pod_ips.iter().flatten().enumerate();
    let host_ips = status.host_ips.iter().flatten().enumerate();
    let mut warnings = Vec::new();
    warnings.extend(pod_ips.filter_map(|(i, ip)| ip_warning(&pod_path.index(i).child("ip"), &ip.ip)));
    warnings.extend(host_ips.filter_map(|(i, ip)| ip_warning(&host_path.index(i).child("ip"), &ip.ip)));
    warnings
}

#[cfg(test)]
mod tests;
