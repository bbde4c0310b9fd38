//! What is served, to whoever asks. One program: each of its own would be compiled with all that is generic anew.

mod fake_guest;
mod fixed_latency;
mod kernel;
mod lab;
mod nonsense;
mod protocol;
mod real_clients;
mod real_guest;
mod served;
mod store;
