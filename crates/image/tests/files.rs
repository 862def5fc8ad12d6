//! The files of an image, and the Containerfile that builds the same one.

#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

use std::{collections::BTreeMap, fs, io::Read as _, path::Path};

use flate2::read::GzDecoder;
use image::{
    PROGRAMS, USER,
    image::{ANNOTATION_CONTAINERD_NAME, Image, Input, build},
    source::Source,
    workspace::{Package, Workspace},
};
use oci_spec::image::{Arch, ImageConfiguration, ImageIndex, ImageManifest};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tar::Archive;

const PROGRAM: &str = "endpointslice-controller";

fn package(workspace: &Workspace) -> &Package {
    workspace.package(PROGRAM).unwrap()
}

/// An image of a program that is only a few bytes.
fn image(tags: &[&str]) -> anyhow::Result<Image> {
    let tags: Vec<String> = tags.iter().map(|&tag| tag.to_owned()).collect();
    build(&Input {
        package: package(&Workspace::read().unwrap()),
        source: &Source {
            time: "2026-01-02T03:04:05Z".parse().unwrap(),
            revision: Some("abc".to_owned()),
        },
        architecture: Arch::ARM64,
        program: b"program",
        sbom: b"{}",
        tags: &tags,
    })
}

/// Content, mode, owner and time by path.
type Entries = BTreeMap<String, (Vec<u8>, u32, u64, u64)>;

fn entries(tar: &[u8]) -> Entries {
    let mut archive = Archive::new(tar);
    let entries = archive.entries().unwrap().map(Result::unwrap).map(|mut entry| {
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        let header = entry.header();
        let (mode, user, time) = (header.mode().unwrap(), header.uid().unwrap(), header.mtime().unwrap());
        let path = entry.path().unwrap().to_str().unwrap().to_owned();
        (path, (content, mode, user, time))
    });
    entries.collect()
}

#[test]
fn same_input_gives_the_same_bytes() {
    let one = image(&["0.1.0", "latest"]).unwrap();
    for _ in 0..10 {
        let other = image(&["0.1.0", "latest"]).unwrap();
        assert_eq!(one, other);
        assert_eq!(one.archive().unwrap(), other.archive().unwrap());
    }
    assert_eq!(
        one.digest,
        image(&["other"]).unwrap().digest,
        "a tag is no part of the image"
    );
}

#[test]
fn every_blob_has_the_digest_of_its_name_and_is_referred_to() {
    let image = image(&["0.1.0"]).unwrap();
    let files = entries(&image.archive().unwrap());
    let blobs: Vec<_> = files.iter().filter(|(path, _)| path.starts_with("blobs/")).collect();
    assert_eq!(blobs.len(), 3, "layer, configuration and manifest");
    for (path, (content, ..)) in blobs {
        assert_eq!(*path, format!("blobs/sha256/{}", hex::encode(Sha256::digest(content))));
    }
    let blob = |digest: &str| &files[&digest.replace("sha256:", "blobs/sha256/")].0;
    let index = ImageIndex::from_reader(&*files["index.json"].0).unwrap();
    assert_eq!(index.manifests()[0].digest().to_string(), image.digest);
    let manifest = ImageManifest::from_reader(&**blob(&image.digest)).unwrap();
    let config = blob(manifest.config().digest().as_ref());
    assert_eq!(manifest.config().size(), config.len() as u64);
    let layer = blob(manifest.layers()[0].digest().as_ref());
    let mut content = Vec::new();
    GzDecoder::new(&**layer).read_to_end(&mut content).unwrap();
    let config = ImageConfiguration::from_reader(&**config).unwrap();
    let diff_id = format!("sha256:{}", hex::encode(Sha256::digest(&content)));
    assert_eq!(*config.rootfs().diff_ids(), [diff_id]);

    let time = 1_767_323_045;
    let expected = [
        (PROGRAM.to_owned(), (b"program".to_vec(), 0o755, 0, time)),
        ("sbom.cdx.json".to_owned(), (b"{}".to_vec(), 0o644, 0, time)),
    ];
    assert_eq!(entries(&content), Entries::from(expected));
}

#[test]
fn configuration_has_user_entry_point_and_labels() {
    let image = image(&["0.1.0"]).unwrap();
    let files = entries(&image.archive().unwrap());
    let manifest: Value = serde_json::from_slice(&files[&image.digest.replace("sha256:", "blobs/sha256/")].0).unwrap();
    let digest = manifest["config"]["digest"].as_str().unwrap();
    let config: Value = serde_json::from_slice(&files[&digest.replace("sha256:", "blobs/sha256/")].0).unwrap();
    let labels = json!({
        "org.opencontainers.image.created": "2026-01-02T03:04:05Z",
        "org.opencontainers.image.description": package(&Workspace::read().unwrap()).description,
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.opencontainers.image.revision": "abc",
        "org.opencontainers.image.title": PROGRAM,
        "org.opencontainers.image.version": env!("CARGO_PKG_VERSION"),
    });
    let expected = json!({
        "User": USER,
        "Entrypoint": ["/endpointslice-controller"],
        "WorkingDir": "/",
        "Labels": labels,
    });
    assert_eq!(config["config"], expected);
    assert_eq!(
        (&config["os"], &config["architecture"]),
        (&json!("linux"), &json!("arm64"))
    );
    assert_eq!(manifest["annotations"], labels);
}

/// containerd takes the name from the annotation, skopeo the tag from the other one, Docker both from `manifest.json`.
#[test]
fn every_tag_has_a_full_name_for_containerd_and_docker() {
    let image = image(&["0.1.0", "latest"]).unwrap();
    assert_eq!(
        image.references,
        [format!("{PROGRAM}:0.1.0"), format!("{PROGRAM}:latest")]
    );
    let files = entries(&image.archive().unwrap());
    let names = ["0.1.0", "latest"].map(|tag| format!("docker.io/library/{PROGRAM}:{tag}"));
    let index = ImageIndex::from_reader(&*files["index.json"].0).unwrap();
    let found: Vec<_> = index
        .manifests()
        .iter()
        .map(|manifest| {
            let annotations = manifest.annotations().as_ref().unwrap();
            let tag = &annotations["org.opencontainers.image.ref.name"];
            (annotations[ANNOTATION_CONTAINERD_NAME].clone(), tag.clone())
        })
        .collect();
    let expected = names
        .clone()
        .map(|name| (name.clone(), name.rsplit_once(':').unwrap().1.to_owned()));
    assert_eq!(found, expected);
    let docker: Value = serde_json::from_slice(&files["manifest.json"].0).unwrap();
    assert_eq!(docker[0]["RepoTags"], json!(names));
    for path in [&docker[0]["Config"], &docker[0]["Layers"][0]] {
        assert!(files.contains_key(path.as_str().unwrap()), "{path}");
    }
}

#[test]
fn invalid_tag_is_an_error() {
    for tag in ["", ".x", "a b", "a/b", "a@b", "a:b", &"x".repeat(129)] {
        let error = image(&[tag]).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("{tag:?} is not a tag of an image: ")),
            "{error}"
        );
    }
}

#[test]
fn layout_has_the_files_of_the_archive_and_replaces_an_older_one() {
    let directory = tempfile::tempdir().unwrap();
    let layout = directory.path().join(PROGRAM);
    fs::create_dir(&layout).unwrap();
    fs::write(layout.join("old"), "").unwrap();
    let image = image(&["0.1.0"]).unwrap();
    image.write_layout(&layout).unwrap();
    assert!(!layout.join("old").exists());
    for (path, (content, ..)) in entries(&image.archive().unwrap()) {
        assert_eq!(fs::read(layout.join(&path)).unwrap(), content, "{path}");
    }
    assert_eq!(
        fs::read_dir(directory.path()).unwrap().count(),
        1,
        "no unfinished directory"
    );
}

/// Each program has a stage with the name, user, path and licence of the image that `cargo xtask image` builds.
#[test]
fn containerfile_builds_the_same_image() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join("deploy/Containerfile")).unwrap();
    let mut stages = text.split("\nFROM ");
    let head = stages.next().unwrap();
    for program in PROGRAMS {
        let version = env!("CARGO_PKG_VERSION");
        assert!(
            head.contains(&format!("--target {program} --tag {program}:{version} .")),
            "{head}"
        );
    }
    let build = stages.next().unwrap();
    assert!(build.contains("-alpine AS build\n"), "{build}");
    assert!(
        build.contains(&format!(
            "--locked --release --package {}",
            PROGRAMS.join(" --package ")
        )),
        "{build}"
    );
    let stages: Vec<_> = stages.map(str::trim_end).collect();
    let expected = PROGRAMS.map(|program| {
        format!(
            "scratch AS {program}\n\
             LABEL org.opencontainers.image.title=\"{program}\" org.opencontainers.image.licenses=\"Apache-2.0\"\n\
             COPY --from=build /src/target/release/{program} /{program}\n\
             USER {USER}\n\
             WORKDIR /\n\
             ENTRYPOINT [\"/{program}\"]"
        )
    });
    assert_eq!(stages, expected);
}
