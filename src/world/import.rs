//! Reading an export back.
//!
//! Everything is checked and every component is built before anything changes, so a refused import leaves no trace.
//! Components may refer to each other's entities in circles, so they are built with the ids that the world will issue
//! next; these are issued only when nothing can fail any more.

use serde::de::Error as _;
use serde_json::{Map, Value};

use self::strict::parse;
use super::World;
use super::error::{ImportError, ImportErrorKind};
use super::export::Dangling;
use super::references::{self, pointer};
use super::registry::{ComponentRegistry, Reader};
use crate::base::caught::{FirstPanic, refused};
use crate::base::entity::Entity;
use crate::base::hash::SeededMap;
use crate::base::json;
use crate::store::component::Component;
use crate::store::handles::Refusal;

mod strict;

/// How much text an import reads, and what it does with references to nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportLimits {
    /// The longest text, in bytes; 64 MiB unless told otherwise.
    pub max_bytes: usize,
    /// The deepest nesting of arrays and objects; 64 unless told otherwise, and 127 at most.
    pub max_depth: usize,
    /// What a reference to an entity that is neither in the import nor in the world becomes.
    pub dangling: Dangling,
}

impl Default for ImportLimits {
    fn default() -> Self {
        Self {
            max_bytes: 64 << 20,
            max_depth: 64,
            dangling: Dangling::Error,
        }
    }
}

/// What an import made, and what it leaves to the caller.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Imported {
    /// The entities, in the order of their handles.
    pub entities: Vec<Entity>,
    /// The `Handle` of the container that was exported, if it was one.
    pub handle: Option<String>,
    /// The exported `Systems`, by handle.
    pub systems: Map<String, Value>,
}

/// An entity as the import describes it.
struct Draft<'v> {
    handle: &'v str,
    components: Vec<(&'v str, Reader, &'v Value)>,
}

/// A component that waits for its entity, with its type name.
type Waiting = (String, Reader, Box<dyn Component>);

/// The components of all drafts.
///
/// Those of an import that is refused are dropped one by one: two panicking ones in a row would abort.
#[derive(Default)]
struct Built(Vec<Vec<Waiting>>);

impl Drop for Built {
    fn drop(&mut self) {
        let mut panics = FirstPanic::default();
        for (.., component) in self.0.drain(..).flatten() {
            panics.drop_value(component);
        }
        panics.resume();
    }
}

fn fault(path: String, kind: ImportErrorKind) -> ImportError {
    ImportError { path, kind }
}

fn object<'v>(value: &'v Value, path: &[&str]) -> Result<&'v Map<String, Value>, ImportError> {
    match value {
        Value::Object(object) => Ok(object),
        other => Err(fault(
            pointer(path),
            ImportErrorKind::NotAnObject {
                got: json::type_name(other),
            },
        )),
    }
}

impl World {
    /// Rebuilds what [`export`](Self::export) (of a world or of a container) gave: the same handles and the same
    /// components. Generated handles come back as chosen ones with the same text.
    ///
    /// Fields that hold entities ([`Component::entity_fields`]) are mapped to the new ids; they may refer to the
    /// import itself, in circles too, and to entities that the world has already.
    ///
    /// # Errors
    /// [`ImportError`], which names the place. Nothing has changed then, and no id was issued. A value that is nested
    /// more deeply than 127 levels is refused.
    pub fn import(
        &mut self,
        types: &ComponentRegistry,
        value: &Value,
    ) -> Result<Imported, ImportError> {
        let limit = json::HIGHEST_DEPTH;
        if !json::is_within(value, limit) {
            return Err(fault(String::new(), ImportErrorKind::TooDeep { limit }));
        }
        self.import_with(types, value, Dangling::Error)
    }

    /// Rebuilds an export from its text, within limits. A key that stands twice is an error.
    ///
    /// # Errors
    /// [`ImportError`], which names the place. Nothing has changed then.
    pub fn import_text(
        &mut self,
        types: &ComponentRegistry,
        text: &str,
        limits: ImportLimits,
    ) -> Result<Imported, ImportError> {
        if text.len() > limits.max_bytes {
            let kind = ImportErrorKind::TooLong {
                bytes: text.len(),
                limit: limits.max_bytes,
            };
            return Err(fault(String::new(), kind));
        }
        let value = parse(text, limits.max_depth)?;
        self.import_with(types, &value, limits.dangling)
    }

    fn import_with(
        &mut self,
        types: &ComponentRegistry,
        value: &Value,
        dangling: Dangling,
    ) -> Result<Imported, ImportError> {
        let (drafts, mut imported) = read_document(types, value)?;
        for draft in &drafts {
            self.check_import_handle(draft.handle)?;
        }
        let Some(ids) = self.issuing().entities.upcoming(drafts.len()) else {
            let kind = ImportErrorKind::OutOfSlots;
            return Err(fault(pointer(&["Entities"]), kind));
        };
        let mut built = self.build(&drafts, &ids, dangling)?;
        // From here on nothing fails.
        let components = std::mem::take(&mut built.0);
        for ((draft, id), components) in drafts.iter().zip(&ids).zip(components) {
            let issued = self.store.reserve_id();
            debug_assert!(
                matches!(issued, Ok(issued) if issued == *id),
                "what was foreseen"
            );
            let mut kinds = Vec::with_capacity(components.len());
            for (name, reader, component) in components {
                kinds.extend(
                    self.store
                        .intern(Some(&name), reader.ty)
                        .map(|kind| (kind, component)),
                );
            }
            self.store.spawn_boxed(*id, kinds);
            let chosen = self.store.choose_handle(draft.handle, *id);
            debug_assert!(chosen.is_ok(), "the handle was checked");
        }
        imported.entities = ids;
        Ok(imported)
    }

    fn check_import_handle(&self, handle: &str) -> Result<(), ImportError> {
        self.store
            .handles
            .check(handle, &self.store.entities)
            .map_err(|refusal| {
                let kind = match refusal {
                    Refusal::Empty => ImportErrorKind::EmptyHandle,
                    Refusal::Taken(_) => ImportErrorKind::HandleTaken {
                        handle: handle.to_owned(),
                    },
                    Refusal::NotIssued => ImportErrorKind::HandleNotIssued {
                        handle: handle.to_owned(),
                    },
                };
                fault(pointer(&["Entities", handle]), kind)
            })
    }

    fn build(
        &self,
        drafts: &[Draft<'_>],
        ids: &[Entity],
        dangling: Dangling,
    ) -> Result<Built, ImportError> {
        let new: SeededMap<&str, Entity> = drafts
            .iter()
            .map(|draft| draft.handle)
            .zip(ids.iter().copied())
            .collect();
        let entity = |handle: &str| new.get(handle).copied().or_else(|| self.find(handle));
        let mut built = Built::default();
        for draft in drafts {
            built.0.push(Vec::with_capacity(draft.components.len()));
            if let Some(components) = built.0.last_mut() {
                let outcome = build_components(draft, &entity, dangling, components);
                if let Err(error) = outcome {
                    return Err(refused(error, |panics| panics.drop_value(built)));
                }
            }
        }
        Ok(built)
    }
}

fn build_components(
    draft: &Draft<'_>,
    entity: &dyn Fn(&str) -> Option<Entity>,
    dangling: Dangling,
    built: &mut Vec<Waiting>,
) -> Result<(), ImportError> {
    for (name, reader, value) in &draft.components {
        let path = || pointer(&["Entities", draft.handle, "Components", name]);
        let mut value = (*value).clone();
        // Looked at before any is mapped: two pointers may lead to one place.
        for field in reader.ty.entity_fields() {
            references::visit(&mut value, field, &mut |place, inner| {
                if !place.is_number() {
                    return Ok(());
                }
                // An id, and ids mean nothing outside the world that issued them.
                let kind = ImportErrorKind::BadValue {
                    rust_name: reader.ty.rust_name(),
                    error: serde_json::Error::custom("a number is no entity's handle"),
                };
                Err(fault(path() + inner, kind))
            })?;
        }
        for field in reader.ty.entity_fields() {
            references::visit(&mut value, field, &mut |place, inner| {
                let Some(handle) = place.as_str() else {
                    return Ok(());
                };
                match (entity(handle), dangling) {
                    (Some(entity), _) => *place = Value::from(entity.to_bits()),
                    (None, Dangling::Null) => *place = Value::Null,
                    (None, Dangling::Error) => {
                        let kind = ImportErrorKind::DanglingReference {
                            handle: handle.to_owned(),
                        };
                        return Err(fault(path() + inner, kind));
                    }
                }
                Ok(())
            })?;
        }
        let component = (reader.read)(value).map_err(|error| {
            fault(
                path(),
                ImportErrorKind::BadValue {
                    rust_name: reader.ty.rust_name(),
                    error,
                },
            )
        })?;
        built.push(((*name).to_owned(), *reader, component));
    }
    Ok(())
}

fn read_document<'v>(
    types: &ComponentRegistry,
    value: &'v Value,
) -> Result<(Vec<Draft<'v>>, Imported), ImportError> {
    let mut imported = Imported {
        entities: Vec::new(),
        handle: None,
        systems: Map::new(),
    };
    let mut drafts = Vec::new();
    for (key, member) in object(value, &[])? {
        match (key.as_str(), member) {
            ("Handle", Value::String(handle)) => imported.handle = Some(handle.clone()),
            ("Entities", member) => drafts = read_entities(types, object(member, &["Entities"])?)?,
            ("Systems", member) => imported.systems.clone_from(object(member, &["Systems"])?),
            _ => return Err(fault(pointer(&[key]), ImportErrorKind::UnexpectedMember)),
        }
    }
    Ok((drafts, imported))
}

fn read_entities<'v>(
    types: &ComponentRegistry,
    entities: &'v Map<String, Value>,
) -> Result<Vec<Draft<'v>>, ImportError> {
    let mut drafts = Vec::with_capacity(entities.len());
    for (handle, value) in entities {
        let mut components = Vec::new();
        for (key, member) in object(value, &["Entities", handle])? {
            match key.as_str() {
                "Handle" if member.as_str() == Some(handle) => {}
                "Handle" => {
                    let kind = ImportErrorKind::HandleMismatch {
                        expected: handle.clone(),
                    };
                    return Err(fault(pointer(&["Entities", handle, "Handle"]), kind));
                }
                "Components" => {
                    for (name, value) in object(member, &["Entities", handle, "Components"])? {
                        let reader =
                            types
                                .reader(name)
                                .filter(|_| !name.is_empty())
                                .ok_or_else(|| {
                                    let kind = ImportErrorKind::UnknownType {
                                        type_name: name.clone(),
                                    };
                                    fault(pointer(&["Entities", handle, "Components", name]), kind)
                                })?;
                        components.push((name.as_str(), reader, value));
                    }
                }
                _ => {
                    return Err(fault(
                        pointer(&["Entities", handle, key]),
                        ImportErrorKind::UnexpectedMember,
                    ));
                }
            }
        }
        drafts.push(Draft { handle, components });
    }
    // The same order whether or not the map keeps the text's.
    drafts.sort_by(|a, b| a.handle.as_bytes().cmp(b.handle.as_bytes()));
    Ok(drafts)
}
