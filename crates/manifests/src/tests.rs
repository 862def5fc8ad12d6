use super::*;

fn find<'a>(objects: &'a [DynamicObject], name: &str) -> Vec<&'a DynamicObject> {
    objects.iter().filter(|object| kind(object) == name).collect()
}

#[test]
fn objects_start_with_the_namespace_and_have_the_labels() {
    let objects = objects(&Controller::ALL, &Options::default());
    assert_eq!(kind(&objects[0]), "Namespace");
    for object in &objects {
        let labels = object.metadata.labels.as_ref().unwrap();
        assert_eq!(labels[PART_OF_LABEL], PART_OF, "{object:?}");
        assert_eq!(labels[VERSION_LABEL], VERSION, "{object:?}");
        let names = [
            PART_OF,
            "endpointslice-controller",
            "endpointslice-mirroring-controller",
        ];
        assert!(names.contains(&labels[NAME_LABEL].as_str()), "{object:?}");
    }
}

#[test]
fn objects_are_unique() {
    let objects = objects(&Controller::ALL, &Options::default());
    let mut ids: Vec<_> = objects
        .iter()
        .map(|object| {
            let metadata = &object.metadata;
            (kind(object), &metadata.namespace, &metadata.name)
        })
        .collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), objects.len());
}

#[test]
fn a_shadow_has_no_rights_to_write_and_no_lease() {
    let shadow = Options {
        shadow: true,
        ..Options::default()
    };
    for controller in Controller::ALL {
        let objects = objects(&[controller], &shadow);
        assert!(find(&objects, "Role").is_empty() && find(&objects, "RoleBinding").is_empty());
        for role in find(&objects, "ClusterRole") {
            for rule in role.data["rules"].as_array().unwrap() {
                // Reviews store nothing; the secure port needs them.
                let is_review = rule["resources"].to_string().contains("reviews");
                let verbs = rule["verbs"].as_array().unwrap();
                let read_only = verbs
                    .iter()
                    .all(|verb| ["get", "list", "watch"].contains(&verb.as_str().unwrap()));
                assert!(is_review || read_only, "{rule}");
            }
        }
        let spec = &find(&objects, "Deployment")[0].data["spec"];
        assert_eq!(spec["replicas"], 1);
        let args = spec["template"]["spec"]["containers"][0]["args"].to_string();
        assert!(
            args.contains("--dry-run=true") && args.contains("--leader-elect=false"),
            "{args}"
        );
    }
}

#[test]
fn the_image_and_the_number_of_replicas_can_be_chosen() {
    let options = Options {
        image: Some("registry.example/controller@sha256:1".to_owned()),
        replicas: 3,
        shadow: false,
    };
    let objects = objects(&[Controller::Mirroring], &options);
    let spec = &find(&objects, "Deployment")[0].data["spec"];
    assert_eq!(spec["replicas"], 3);
    assert_eq!(
        spec["template"]["spec"]["containers"][0]["image"],
        "registry.example/controller@sha256:1"
    );
}
