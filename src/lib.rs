//! archecs: an entity component system whose world lives in containers that talk by JSON messages.

mod base;
