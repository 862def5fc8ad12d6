//! The store: objects by table and key, one revision counter, and a bounded history of changes for watches.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    ops::Bound,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use tokio::sync::watch;

use crate::{
    any_kind::AnyKind,
    kinds::ClusterIps,
    object::{Object, key},
    resources::{self, Resource, Table},
    status::ApiError,
};

/// The state of a server. Every write of any resource increments the revision by one, as in etcd.
pub(crate) struct Store {
    pub(crate) revision: u64,
    pub(crate) cluster_ips: ClusterIps,
    pub(crate) garbage_collection: bool,
    /// Queue of removed objects for [`process_deletions`](Self::process_deletions).
    pub(crate) removed: VecDeque<(Table, Arc<Object>)>,
    /// Queue of objects with a deletionTimestamp and finalizers for `process_deletions`.
    pub(crate) terminating: VecDeque<(Table, Arc<str>)>,
    tables: Vec<TableState>,
    /// Index: table and key by uid.
    uids: HashMap<Box<str>, (Table, Arc<str>)>,
    /// Index: dependents by the uid of their owner.
    dependents: HashMap<Box<str>, BTreeSet<(Table, Arc<str>)>>,
    history_max: usize,
}

struct TableState {
    objects: BTreeMap<Arc<str>, Arc<Object>>,
    history: VecDeque<Arc<Change>>,
    /// The revision of the last change that was evicted from the history. An open watch that has not read it has expired.
    evicted: u64,
    /// The revision of the last compaction. A new watch or an exact list must start at this revision or later.
    compacted: u64,
    /// Sends the revision of every change to the watches.
    notify: watch::Sender<u64>,
}

/// One change of one object.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) revision: u64,
    pub(crate) action: Action,
    /// The object after the change; for a deletion, the deleted object with the revision of the deletion.
    pub(crate) object: Arc<Object>,
    pub(crate) previous: Option<Arc<Object>>,
    /// The encoded watch event, created on first use and shared by all watches.
    pub(crate) encoded: OnceLock<Bytes>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Added,
    Modified,
    Deleted,
}

impl Store {
    pub(crate) fn new(history_max: usize, garbage_collection: bool) -> Self {
        let table = |_| TableState {
            objects: BTreeMap::new(),
            history: VecDeque::new(),
            evicted: 0,
            compacted: 0,
            notify: watch::Sender::new(0),
        };
        Self {
            revision: 0,
            cluster_ips: ClusterIps::default(),
            garbage_collection,
            removed: VecDeque::new(),
            terminating: VecDeque::new(),
            tables: Table::ALL.into_iter().map(table).collect(),
            uids: HashMap::new(),
            dependents: HashMap::new(),
            history_max,
        }
    }

    fn table(&self, table: Table) -> &TableState {
        &self.tables[table as usize]
    }

    pub(crate) fn get(&self, table: Table, key: &str) -> Option<Arc<Object>> {
        self.table(table).objects.get(key).cloned()
    }

    /// Decodes an object as the storage kind of its table.
    pub(crate) fn decode(object: &Object, table: Table) -> Result<Box<dyn AnyKind>, ApiError> {
        let text = serde_json::to_vec(&object.fields).map_err(codec_error)?;
        (resources::stored_in(table).codec.decode)(&text).map_err(codec_error)
    }

    pub(crate) fn namespace(&self, name: &str) -> Option<Arc<Object>> {
        self.get(Table::Namespaces, name)
    }

    /// Whether a namespace has no objects.
    pub(crate) fn is_empty_namespace(&self, name: &str) -> bool {
        let prefix = key(name, "");
        Table::ALL
            .into_iter()
            .all(|table| self.keys_with_prefix(table, &prefix).next().is_none())
    }

    /// The keys with a prefix.
    pub(crate) fn keys_with_prefix<'a>(&'a self, table: Table, prefix: &'a str) -> impl Iterator<Item = Arc<str>> + 'a {
        let range = (Bound::Included(prefix), Bound::Unbounded);
        let found = self.table(table).objects.range::<str, _>(range);
        found
            .map(|(key, _)| key.clone())
            .take_while(move |key| key.starts_with(prefix))
    }

    pub(crate) fn is_live(&self, uid: &str) -> bool {
        self.uids.contains_key(uid)
    }

    /// Table and key of the object with a uid.
    pub(crate) fn find_by_uid(&self, uid: &str) -> Option<(Table, Arc<str>)> {
        self.uids.get(uid).cloned()
    }

    pub(crate) fn dependents_of(&self, uid: &str) -> Vec<(Table, Arc<str>)> {
        self.dependents.get(uid).into_iter().flatten().cloned().collect()
    }

    /// Creates or updates an object.
    pub(crate) fn put(&mut self, table: Table, kind: &mut dyn AnyKind) -> Result<Arc<Object>, ApiError> {
        let revision = self.revision + 1;
        let object = Object::new(kind, resources::stored_in(table), revision).map_err(codec_error)?;
        let object = Arc::new(object);
        let key = Arc::<str>::from(object.key());
        self.revision = revision;
        let previous = self.tables[table as usize].objects.insert(key.clone(), object.clone());
        if let Some(previous) = &previous {
            self.unindex(table, &key, previous);
        }
        self.update_allocation(table, Some(kind), previous.as_deref())?;
        self.index(table, &key, &object);
        let action = if previous.is_some() {
            Action::Modified
        } else {
            Action::Added
        };
        self.record(table, action, object.clone(), previous);
        Ok(object)
    }

    /// Updates an object if it differs from the existing one.
    pub(crate) fn put_changed(
        &mut self,
        table: Table,
        object: &mut dyn AnyKind,
        existing: &Arc<Object>,
    ) -> Result<Arc<Object>, ApiError> {
        let unchanged = Object::new(object, resources::stored_in(table), existing.revision).map_err(codec_error)?;
        if unchanged.fields.json_eq(&existing.fields) {
            return Ok(existing.clone());
        }
        self.put(table, object)
    }

    /// Removes an object and returns it with the revision of the removal.
    pub(crate) fn remove(&mut self, table: Table, key: &str) -> Result<Option<Arc<Object>>, ApiError> {
        let Some(previous) = self.get(table, key) else {
            return Ok(None);
        };
        let revision = self.revision + 1;
        let object = Arc::new(previous.with_revision(revision).map_err(codec_error)?);
        self.revision = revision;
        self.tables[table as usize].objects.remove(key);
        self.unindex(table, key, &previous);
        self.update_allocation(table, None, Some(&previous))?;
        self.record(table, Action::Deleted, object.clone(), Some(previous.clone()));
        self.removed.push_back((table, previous));
        Ok(Some(object))
    }

    /// Updates the allocated cluster IPs and node ports after a write of a Service.
    fn update_allocation(
        &mut self,
        table: Table,
        new: Option<&dyn AnyKind>,
        old: Option<&Object>,
    ) -> Result<(), ApiError> {
        if table != Table::Services {
            return Ok(());
        }
        let old = old.map(|old| Self::decode(old, table)).transpose()?;
        match (new, old) {
            (Some(new), old) => new.commit_allocation(old.as_deref(), &mut self.cluster_ips),
            (None, Some(old)) => old.release_allocation(&mut self.cluster_ips),
            (None, None) => {}
        }
        Ok(())
    }

    fn index(&mut self, table: Table, key: &Arc<str>, object: &Object) {
        self.uids.insert(object.uid.clone(), (table, key.clone()));
        for owner in &object.owners {
            let dependents = self.dependents.entry(owner.uid.clone()).or_default();
            dependents.insert((table, key.clone()));
        }
    }

    fn unindex(&mut self, table: Table, key: &str, object: &Object) {
        self.uids.remove(&object.uid);
        for owner in &object.owners {
            if let Some(dependents) = self.dependents.get_mut(&owner.uid) {
                dependents.remove(&(table, Arc::from(key)));
                if dependents.is_empty() {
                    self.dependents.remove(&owner.uid);
                }
            }
        }
    }

    fn record(&mut self, table: Table, action: Action, object: Arc<Object>, previous: Option<Arc<Object>>) {
        let (revision, max) = (self.revision, self.history_max);
        let state = &mut self.tables[table as usize];
        state.history.push_back(Arc::new(Change {
            revision,
            action,
            object,
            previous,
            encoded: OnceLock::new(),
        }));
        while state.history.len() > max {
            if let Some(evicted) = state.history.pop_front() {
                state.evicted = evicted.revision;
            }
        }
        state.notify.send_replace(revision);
    }

    /// Drops the history of all tables.
    pub(crate) fn compact(&mut self) {
        for state in &mut self.tables {
            if let Some(last) = state.history.back() {
                state.evicted = last.revision;
            }
            state.history.clear();
            state.compacted = self.revision;
        }
    }

    /// Goes back to the state at an earlier revision, as etcd after a restore. Ends all watches.
    pub(crate) fn rewind(&mut self, revision: u64) -> Result<(), ApiError> {
        if Table::ALL.into_iter().any(|table| revision < self.table(table).evicted) {
            return Err(ApiError::expired(
                "the history no longer has the changes since this revision",
            ));
        }
        self.uids.clear();
        self.dependents.clear();
        self.cluster_ips = ClusterIps::default();
        for table in Table::ALL {
            let objects = self.snapshot(table, "", revision);
            let state = &mut self.tables[table as usize];
            state.history.retain(|change| change.revision <= revision);
            state.objects = objects
                .iter()
                .map(|object| (Arc::from(object.key()), Arc::clone(object)))
                .collect();
            // The receivers of the old sender end their watches.
            state.notify = watch::Sender::new(revision);
            for object in objects {
                self.index(table, &Arc::from(object.key()), &object);
                if table == Table::Services {
                    Self::decode(&object, table)?.commit_allocation(None, &mut self.cluster_ips);
                }
            }
        }
        self.removed.clear();
        self.terminating.clear();
        self.revision = revision;
        Ok(())
    }

    /// The oldest revision at which a watch or an exact list of a table can start.
    pub(crate) fn oldest_revision(&self, table: Table) -> u64 {
        let state = self.table(table);
        state.compacted.max(state.evicted)
    }

    /// Subscribes to the changes of a table.
    pub(crate) fn subscribe(&self, table: Table) -> watch::Receiver<u64> {
        self.table(table).notify.subscribe()
    }

    /// The next changes after a revision, or `None` if some of them were evicted from the history.
    pub(crate) fn changes_after(&self, table: Table, revision: u64, max: usize) -> Option<Vec<Arc<Change>>> {
        let state = self.table(table);
        if revision < state.evicted {
            return None;
        }
        let start = state.history.partition_point(|change| change.revision <= revision);
        Some(state.history.iter().skip(start).take(max).cloned().collect())
    }

    /// The objects with a key prefix at a revision, in key order. Undoes the changes after that revision, which must still
    /// be in the history.
    pub(crate) fn snapshot(&self, table: Table, prefix: &str, revision: u64) -> Vec<Arc<Object>> {
        let state = self.table(table);
        let range = (Bound::Included(prefix), Bound::Unbounded);
        let found = state.objects.range::<str, _>(range);
        let found = found.take_while(|(key, _)| key.starts_with(prefix));
        if state.history.back().is_none_or(|last| last.revision <= revision) {
            return found.map(|(_, object)| object.clone()).collect();
        }
        let mut objects: BTreeMap<String, Arc<Object>> =
            found.map(|(key, object)| (key.to_string(), object.clone())).collect();
        for change in state
            .history
            .iter()
            .rev()
            .take_while(|change| change.revision > revision)
        {
            let key = change.object.key();
            if key.starts_with(prefix) {
                match &change.previous {
                    Some(previous) => objects.insert(key, previous.clone()),
                    None => objects.remove(&key),
                };
            }
        }
        objects.into_values().collect()
    }
}

/// The error for a stored object that cannot be encoded or decoded, which is a bug of the simulator.
#[expect(clippy::needless_pass_by_value, reason = "map_err passes the error by value")]
pub(crate) fn codec_error(error: serde_json::Error) -> ApiError {
    ApiError::internal(format!("apisim cannot encode or decode an object it holds: {error}"))
}

/// The key of the object with a namespace and name.
pub(crate) fn key_of(resource: &Resource, namespace: Option<&str>, name: &str) -> String {
    key(namespace.filter(|_| resource.namespaced).unwrap_or_default(), name)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Endpoints;

    use super::*;

    fn endpoints(name: &str, label: &str) -> Endpoints {
        let text =
            format!(r#"{{"metadata":{{"name":"{name}","namespace":"n","uid":"{name}","labels":{{"l":"{label}"}}}}}}"#);
        serde_json::from_str(&text).unwrap()
    }

    fn labels(objects: &[Arc<Object>]) -> Vec<(&str, &str)> {
        objects
            .iter()
            .map(|object| (&*object.name, object.labels["l"].as_str()))
            .collect()
    }

    fn store(history_max: usize) -> Store {
        let mut store = Store::new(history_max, true);
        store.put(Table::Endpoints, &mut endpoints("a", "1")).unwrap();
        store.put(Table::Endpoints, &mut endpoints("b", "1")).unwrap();
        store.put(Table::Endpoints, &mut endpoints("a", "2")).unwrap();
        store.remove(Table::Endpoints, "n/b").unwrap();
        store
    }

    #[test]
    fn snapshot_undoes_the_changes_after_its_revision() {
        let store = store(10);
        for (revision, expected) in [
            (4, vec![("a", "2")]),
            (3, vec![("a", "2"), ("b", "1")]),
            (2, vec![("a", "1"), ("b", "1")]),
            (1, vec![("a", "1")]),
            (0, vec![]),
        ] {
            assert_eq!(
                labels(&store.snapshot(Table::Endpoints, "n/", revision)),
                expected,
                "{revision}"
            );
        }
    }

    #[test]
    fn changes_after_an_evicted_revision_are_not_available() {
        let store = store(2);
        let revisions = |after| {
            let changes = store.changes_after(Table::Endpoints, after, 10)?;
            Some(changes.iter().map(|change| change.revision).collect::<Vec<_>>())
        };
        assert_eq!(revisions(1), None);
        assert_eq!(revisions(2), Some(vec![3, 4]));
        assert_eq!(revisions(4), Some(vec![]));
        assert_eq!(store.oldest_revision(Table::Endpoints), 2);
    }

    #[test]
    fn rewind_restores_objects_and_indexes_and_ends_watches() {
        let mut store = store(10);
        let mut watch = store.subscribe(Table::Endpoints);
        store.rewind(2).unwrap();
        assert_eq!(store.revision, 2);
        assert_eq!(
            labels(&store.snapshot(Table::Endpoints, "n/", 9)),
            [("a", "1"), ("b", "1")]
        );
        assert!(store.is_live("b"));
        assert!(futures::FutureExt::now_or_never(watch.changed()).is_some_and(|ended| ended.is_err()));
        store.remove(Table::Endpoints, "n/a").unwrap();
        let changes = store.changes_after(Table::Endpoints, 1, 10).unwrap();
        assert_eq!(changes.iter().map(|change| change.revision).collect::<Vec<_>>(), [2, 3]);
        store.compact();
        assert!(store.rewind(1).is_err());
    }

    #[test]
    fn compaction_keeps_watches_that_have_read_all_changes() {
        let mut store = store(10);
        store
            .put(Table::Nodes, &mut k8s_openapi::api::core::v1::Node::default())
            .unwrap();
        store.compact();
        assert_eq!(store.oldest_revision(Table::Endpoints), 5);
        assert!(store.changes_after(Table::Endpoints, 4, 10).is_some());
        assert!(store.changes_after(Table::Endpoints, 3, 10).is_none());
    }
}
