//! Rejections and deadlines on the wire: one file per framework, one feature each.

#[cfg(feature = "actix")]
mod actix;
#[cfg(feature = "axum")]
mod axum;
#[cfg(feature = "http")]
mod deadline;
#[cfg(any(feature = "tower", feature = "tonic"))]
mod grpc;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "tonic")]
mod tonic;
#[cfg(feature = "tower")]
pub mod tower;
