//! The Helm chart: templates are the same objects, with expressions in place of what values set.

mod template;
mod values;

use kube::core::DynamicObject;
use serde_json::{Value, json};

use crate::{
    Controller, NAMESPACE, Options, PART_OF, VERSION, controller_objects, kind, monitoring, shared_objects, yaml,
};
use template::{Template, block};

/// The directory of the chart, relative to `deploy/`.
const DIRECTORY: &str = "chart/endpointslice-rs";

/// What `helm install` prints.
const NOTES: &str = "\
{{- range $name, $values := dict \"endpointslice-controller\" .Values.endpointslice \
\"endpointslice-mirroring-controller\" .Values.mirroring }}
{{- if $values.enabled }}
{{ $name }}: every replica gets ready, and one of them leads. The Lease names it:
  kubectl --namespace kube-system get lease {{ $name }}
The built-in controller must be off, because two writers overwrite each other's EndpointSlices. Add to the value (`*` if it is not set) of the flag
--controllers of kube-controller-manager: -{{ $name }}
{{- else }}
{{ $name }} is not installed: the built-in controller must be on.
{{- end }}
{{- end }}
{{- if or .Values.scope.namespace .Values.scope.serviceSelector }}
Services outside of the scope have no controller while the built-in ones are off.
{{- end }}
";

/// Helm reports only that the namespace exists and has another owner.
const NAMESPACE_CHECK: &str = "\
{{- if and .Values.createNamespace (eq .Release.Namespace .Values.namespace) }}
{{- fail (printf \"the chart creates the namespace %s with labels that its pods need: install the release in another one \
(--namespace kube-system), or set createNamespace=false\" .Values.namespace) }}
{{- end }}
";

/// The files of the chart.
pub(crate) fn files() -> Vec<(String, String)> {
    let mut files = vec![
        ("Chart.yaml".to_owned(), yaml::file(&[metadata()])),
        ("values.yaml".to_owned(), values::yaml()),
        ("values.schema.json".to_owned(), format!("{:#}\n", values::schema())),
        ("templates/NOTES.txt".to_owned(), NOTES.to_owned()),
        ("templates/shared.yaml".to_owned(), shared()),
        ("templates/monitoring.yaml".to_owned(), monitoring_shared()),
    ];
    for controller in Controller::ALL {
        let name = controller.short_name();
        files.push((format!("templates/{name}.yaml"), of_controller(controller)));
    }
    let path = |(name, content)| (format!("{DIRECTORY}/{name}"), content);
    files.into_iter().map(path).collect()
}

fn metadata() -> Value {
    json!({
        "apiVersion": "v2",
        "type": "application",
        "name": PART_OF,
        "description": "The EndpointSlice and EndpointSliceMirroring controllers of Kubernetes, in Rust",
        "version": VERSION,
        "appVersion": VERSION,
        // flowcontrol.apiserver.k8s.io/v1
        "kubeVersion": ">= 1.29.0-0",
    })
}

fn shared() -> String {
    let mut text = yaml::HEADER.to_owned() + NAMESPACE_CHECK;
    for object in shared_objects() {
        let document = template(&object).render();
        text += &match kind(&object) {
            // The quota would count the pods of others in a namespace that is not ours alone.
            "Namespace" | "ResourceQuota" => condition(".Values.createNamespace", &document),
            _ => document,
        };
    }
    text
}

fn monitoring_shared() -> String {
    let documents = monitoring::shared_objects()
        .iter()
        .map(monitoring_document)
        .collect::<String>();
    yaml::HEADER.to_owned() + &condition(".Values.monitoring.enabled", &documents)
}

fn of_controller(controller: Controller) -> String {
    let values = format!(".Values.{}", controller.short_name());
    let mut documents = String::new();
    for object in controller_objects(controller, &Options::default()) {
        let mut template = template(&object);
        if kind(&object) == "Deployment" {
            fill_deployment(&mut template, &values);
        }
        documents += &template.render();
    }
    documents += &condition(
        ".Values.monitoring.enabled",
        &monitoring_document(&monitoring::prometheus_rule(controller)),
    );
    yaml::HEADER.to_owned() + &condition(&format!("{values}.enabled"), &documents)
}

/// Objects of the Prometheus operator get the labels by which a Prometheus selects them.
fn monitoring_document(object: &DynamicObject) -> String {
    let mut template = template(object);
    if ["PodMonitor", "PrometheusRule"].contains(&kind(object)) {
        let lines = [
            "{{- range $name, $value := .Values.monitoring.labels }}",
            "{{ $name | quote }}: {{ $value | quote }}",
            "{{- end }}",
        ];
        template.insert("/metadata/labels", "moreLabels", block(lines));
    }
    template.render()
}

/// The template of an object, with the namespace from the values.
fn template(object: &DynamicObject) -> Template {
    let mut template = Template::new(object);
    template.replace_all(NAMESPACE, "{{ .Values.namespace | quote }}");
    template
}

fn fill_deployment(template: &mut Template, values: &str) {
    let pod = "/spec/template/spec";
    let container = format!("{pod}/containers/0");
    let secrets = [
        "{{- with .Values.imagePullSecrets }}",
        "imagePullSecrets: {{ toJson . }}",
        "{{- end }}",
    ];
    template.insert(pod, "imagePullSecrets", block(secrets));
    let labels = [
        // The images are for Linux, and a key must not be rendered twice.
        r#"{{- range $name, $value := omit .Values.nodeSelector "kubernetes.io/os" }}"#,
        "{{ $name | quote }}: {{ $value | quote }}",
        "{{- end }}",
    ];
    template.insert(&format!("{pod}/nodeSelector"), "moreLabels", block(labels));
    template.replace("/spec/replicas", format!("{{{{ {values}.replicas }}}}"));
    template.replace(
        &format!("{container}/image"),
        format!("{{{{ {values}.image | quote }}}}"),
    );
    template.replace(
        &format!("{container}/imagePullPolicy"),
        "{{ .Values.imagePullPolicy }}".to_owned(),
    );
    template.replace(
        &format!("{container}/resources"),
        format!("{{{{ toJson {values}.resources }}}}"),
    );
    let flags = [
        "{{- with .Values.scope.namespace }}",
        "- {{ printf \"--namespace=%s\" . | quote }}",
        "{{- end }}",
        "{{- with .Values.scope.serviceSelector }}",
        "- {{ printf \"--service-selector=%s\" . | quote }}",
        "{{- end }}",
        &format!("{{{{- range {values}.flags }}}}"),
        "- {{ . | quote }}",
        "{{- end }}",
    ];
    template.push(&format!("{container}/args"), block(flags));
}

/// Text that is rendered if a value is true.
fn condition(value: &str, text: &str) -> String {
    format!("{{{{- if {value} }}}}\n{text}{{{{- end }}}}\n")
}
