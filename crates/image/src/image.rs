//! An OCI image as files: a layout that is also an archive of Docker.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::Path,
    str::FromStr as _,
};

use anyhow::Context as _;
use oci_spec::{
    distribution::Reference,
    image::{
        ANNOTATION_CREATED, ANNOTATION_DESCRIPTION, ANNOTATION_LICENSES, ANNOTATION_REF_NAME, ANNOTATION_REVISION,
        ANNOTATION_TITLE, ANNOTATION_VERSION, Arch, ConfigBuilder, Descriptor, HistoryBuilder,
        ImageConfigurationBuilder, ImageIndexBuilder, ImageManifestBuilder, MediaType, OciLayoutBuilder, Os,
        PlatformBuilder, RootFsBuilder, SCHEMA_VERSION, Sha256Digest,
    },
};
use serde::Serialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::{
    SBOM_PATH, USER,
    source::Source,
    tarball::{File, gzip, tar},
    workspace::Package,
};

/// The name under which containerd stores an imported image. The kubelet resolves `name:tag` to `docker.io/library/name:tag`.
pub const ANNOTATION_CONTAINERD_NAME: &str = "io.containerd.image.name";

/// The input of an image.
#[derive(Debug)]
pub struct Input<'a> {
    /// The package of the program: name, version, licence.
    pub package: &'a Package,
    /// Time and commit of the source.
    pub source: &'a Source,
    /// The architecture of the program.
    pub architecture: Arch,
    /// The statically linked program.
    pub program: &'a [u8],
    /// The SBOM of the program.
    pub sbom: &'a [u8],
    /// The tags of the image, one at least.
    pub tags: &'a [String],
}

/// An image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The digest of the manifest.
    pub digest: String,
    /// Names with tags, as in the manifest of a pod.
    pub references: Vec<String>,
    /// The files of the OCI layout, and `manifest.json` of Docker, by path.
    files: BTreeMap<String, Vec<u8>>,
    seconds: u64,
}

/// Builds an image. The same input gives the same bytes.
pub fn build(input: &Input<'_>) -> anyhow::Result<Image> {
    let references = references(input)?;
    let mut files = Files::default();

    let seconds = u64::try_from(input.source.time.as_second());
    let seconds = seconds.context("the source is older than 1970: correct SOURCE_DATE_EPOCH")?;
    let content = BTreeMap::from([
        (
            input.package.name.as_str(),
            File {
                content: input.program,
                mode: 0o755,
            },
        ),
        (
            SBOM_PATH,
            File {
                content: input.sbom,
                mode: 0o644,
            },
        ),
    ]);
    let layer = tar(&content, seconds).context("cannot write the layer")?;
    let diff_id = format!("sha256:{}", sha256(&layer));
    let layer = gzip(&layer).context("cannot compress the layer")?;
    let layer = files.blob(MediaType::ImageLayerGzip, layer)?;
    let config = files.json_blob(MediaType::ImageConfig, &configuration(input, diff_id)?)?;
    let docker = json!([{
        "Config": blob_path(&config),
        "RepoTags": references.iter().map(Reference::to_string).collect::<Vec<_>>(),
        "Layers": [blob_path(&layer)],
    }]);
    let manifest = ImageManifestBuilder::default()
        .schema_version(SCHEMA_VERSION)
        .media_type(MediaType::ImageManifest)
        .config(config)
        .layers([layer])
        .annotations(labels(input))
        .build()?;
    let mut manifest = files.json_blob(MediaType::ImageManifest, &manifest)?;
    let digest = manifest.digest().to_string();
    let platform = PlatformBuilder::default()
        .architecture(input.architecture.clone())
        .os(Os::Linux)
        .build()?;
    manifest.set_platform(Some(platform));

    let manifests: Vec<Descriptor> = references.iter().map(|reference| named(&manifest, reference)).collect();
    let index = ImageIndexBuilder::default()
        .schema_version(SCHEMA_VERSION)
        .media_type(MediaType::ImageIndex)
        .manifests(manifests)
        .build()?;
    files.add("index.json", canonical_json(&index)?);
    files.add("manifest.json", canonical_json(&docker)?);
    let layout = OciLayoutBuilder::default().image_layout_version("1.0.0").build()?;
    files.add("oci-layout", canonical_json(&layout)?);
    Ok(Image {
        digest,
        references: references.iter().map(short_name).collect(),
        files: files.0,
        seconds,
    })
}

impl Image {
    /// Writes the OCI layout: a directory that replaces an older one.
    pub fn write_layout(&self, directory: &Path) -> anyhow::Result<()> {
        let parent = directory.parent().context("the layout needs a parent directory")?;
        let unfinished =
            tempfile::tempdir_in(parent).with_context(|| format!("cannot write in {}", parent.display()))?;
        for (path, content) in &self.files {
            let path = unfinished.path().join(path);
            let write = || {
                fs::create_dir_all(path.parent().unwrap_or(parent))?;
                fs::write(&path, content)
            };
            write().with_context(|| format!("cannot write {}", path.display()))?;
        }
        let replace = || {
            if directory.exists() {
                fs::remove_dir_all(directory)?;
            }
            fs::rename(unfinished.keep(), directory)
        };
        replace().with_context(|| format!("cannot replace {}", directory.display()))
    }

    /// The tar file of the layout, which is an archive of Docker as well.
    pub fn archive(&self) -> anyhow::Result<Vec<u8>> {
        let files = self.files.iter();
        let files = files.map(|(path, content)| (path.as_str(), File { content, mode: 0o644 }));
        let files = files.collect();
        tar(&files, self.seconds).context("cannot write the archive")
    }
}

/// Files of the layout by path.
#[derive(Debug, Default)]
struct Files(BTreeMap<String, Vec<u8>>);

impl Files {
    fn add(&mut self, path: &str, content: Vec<u8>) {
        self.0.insert(path.to_owned(), content);
    }

    fn json_blob(&mut self, media_type: MediaType, content: &impl Serialize) -> anyhow::Result<Descriptor> {
        self.blob(media_type, canonical_json(content)?)
    }

    fn blob(&mut self, media_type: MediaType, content: Vec<u8>) -> anyhow::Result<Descriptor> {
        let digest = Sha256Digest::from_str(&sha256(&content))?;
        let descriptor = Descriptor::new(media_type, content.len() as u64, digest);
        self.add(&blob_path(&descriptor), content);
        Ok(descriptor)
    }
}

fn blob_path(descriptor: &Descriptor) -> String {
    format!("blobs/sha256/{}", descriptor.digest().digest())
}

fn sha256(content: &[u8]) -> String {
    hex::encode(Sha256::digest(content))
}

/// JSON with sorted keys: the order of annotations and labels, which are hash maps in `oci-spec`, differs from run to run.
fn canonical_json(content: &impl Serialize) -> anyhow::Result<Vec<u8>> {
    let mut value = serde_json::to_value(content).context("cannot encode the image")?;
    value.sort_all_objects();
    Ok(value.to_string().into_bytes())
}

/// One reference per tag, with the registry and the repository that a short name stands for.
fn references(input: &Input<'_>) -> anyhow::Result<Vec<Reference>> {
    let reference = |tag: &String| {
        let reference = format!("{}:{tag}", input.package.name);
        let parsed = Reference::from_str(&reference).ok();
        let parsed = parsed.filter(|parsed| parsed.tag() == Some(tag.as_str()) && parsed.digest().is_none());
        parsed.with_context(|| {
            format!(
                "{tag:?} is not a tag of an image: use at most 128 letters, digits, underscores, dots and dashes, the first of \
                 them neither a dot nor a dash"
            )
        })
    };
    input.tags.iter().map(reference).collect()
}

fn short_name(reference: &Reference) -> String {
    let name = reference.to_string();
    name.strip_prefix("docker.io/library/").unwrap_or(&name).to_owned()
}

fn named(manifest: &Descriptor, reference: &Reference) -> Descriptor {
    let mut manifest = manifest.clone();
    let annotations = [
        (ANNOTATION_CONTAINERD_NAME, reference.to_string()),
        (ANNOTATION_REF_NAME, reference.tag().unwrap_or_default().to_owned()),
    ];
    manifest.set_annotations(Some(annotations.map(|(key, value)| (key.to_owned(), value)).into()));
    manifest
}

fn configuration(input: &Input<'_>, diff_id: String) -> anyhow::Result<impl Serialize> {
    let created = input.source.time.to_string();
    let config = ConfigBuilder::default()
        .user(USER)
        .entrypoint([format!("/{}", input.package.name)])
        .working_dir("/")
        .labels(labels(input))
        .build()?;
    let history = HistoryBuilder::default()
        .created(&*created)
        .created_by("cargo xtask image")
        .build()?;
    let configuration = ImageConfigurationBuilder::default()
        .created(created)
        .architecture(input.architecture.clone())
        .os(Os::Linux)
        .config(config)
        .rootfs(RootFsBuilder::default().typ("layers").diff_ids([diff_id]).build()?)
        .history([history])
        .build()?;
    Ok(configuration)
}

/// What the image is, for people and for registries.
fn labels(input: &Input<'_>) -> HashMap<String, String> {
    let Input { package, source, .. } = input;
    let labels = [
        (ANNOTATION_TITLE, package.name.clone()),
        (ANNOTATION_DESCRIPTION, package.description.clone()),
        (ANNOTATION_VERSION, package.version.clone()),
        (ANNOTATION_LICENSES, package.license.clone()),
        (ANNOTATION_CREATED, source.time.to_string()),
    ];
    let revision = source
        .revision
        .iter()
        .map(|revision| (ANNOTATION_REVISION, revision.clone()));
    let labels = labels.into_iter().chain(revision);
    labels.map(|(key, value)| (key.to_owned(), value)).collect()
}
