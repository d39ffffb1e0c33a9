//! Rejections on the wire: one file per framework, one feature each.

#[cfg(feature = "axum")]
mod axum;
#[cfg(feature = "http")]
mod http;
