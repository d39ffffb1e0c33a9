//! A rejection as actix-web's response.

use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::{HttpResponse, ResponseError};

use crate::error::BulkheadError;
use crate::outcome::{FromBulkheadError, Verdict};

/// Available with the feature `actix`. The response is that of
/// [`to_response`](BulkheadError::to_response); a handler may return the error itself, or
/// `actix_web::Error`, which is made from it.
///
/// A server of actix-web lets a handler run to its end, with its permit, when the client has closed the
/// connection in good order; with `HttpServer::h1_allow_half_closed(false)` the call is cancelled then.
impl ResponseError for BulkheadError {
    fn status_code(&self) -> StatusCode {
        own_status(self.status())
    }

    fn error_response(&self) -> HttpResponse {
        let (head, body) = self.to_response::<String>().into_parts();
        let mut response = HttpResponse::build(own_status(head.status));
        for (name, value) in &head.headers {
            response.insert_header((own_name(name), own_value(value)));
        }
        response.body(body)
    }
}

/// Available with the feature `actix`: a status of 5xx is a failure.
impl FromBulkheadError for HttpResponse {
    fn from_bulkhead_error(error: BulkheadError) -> Self {
        error.error_response()
    }

    fn verdict(&self) -> Verdict {
        if self.status().is_server_error() {
            Verdict::Failure
        } else {
            Verdict::Success
        }
    }
}

// actix-web stands on another major version of `http`, so that nothing but the values can be passed on.

fn own_status(status: http::StatusCode) -> StatusCode {
    StatusCode::from_u16(status.as_u16()).expect("a status is one in every version")
}

fn own_name(name: &http::HeaderName) -> HeaderName {
    HeaderName::from_bytes(name.as_str().as_bytes()).expect("a name is one in every version")
}

fn own_value(value: &http::HeaderValue) -> HeaderValue {
    HeaderValue::from_bytes(value.as_bytes()).expect("a value is one in every version")
}
