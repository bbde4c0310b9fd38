//! What arrays promise, over drives of every kind. One program: each of its own would be compiled with all that is generic anew.

mod beside;
mod md;
mod md_contents;
mod md_order;
mod md_rules;
mod members;
mod nas;
mod plain;
mod plan;
mod timeouts;
mod zfs_allocation;
mod zfs_gone;
mod zfs_laws;
mod zfs_resilver;
mod zfs_rules;
mod zfs_unreadable;
mod zfs_users;
