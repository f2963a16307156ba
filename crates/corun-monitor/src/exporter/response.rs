//! Response to a request: the metrics, a page that links to them, or no.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};

use super::{Format, Page};

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";

const INDEX: &str = "<!doctype html><title>corun exporter</title>\
    <h1>corun exporter</h1><p><a href=\"/metrics\">Metrics</a></p>\n";

/// The response to a request, whose body is not read.
pub(super) fn response<B>(request: &Request<B>, page: &Page) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response = message(
            StatusCode::METHOD_NOT_ALLOWED,
            "expected GET or HEAD: nothing here can be changed\n",
        );
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    match request.uri().path() {
        "/metrics" => {
            let format = format(request);
            let kind = if format == Format::OpenMetrics { OPEN_METRICS } else { TEXT };
            of(StatusCode::OK, kind, page.get(format))
        }
        "/" => of(StatusCode::OK, HTML, Bytes::from_static(INDEX.as_bytes())),
        _ => message(StatusCode::NOT_FOUND, "expected /metrics\n"),
    }
}

/// OpenMetrics for who names it, as Prometheus does.
fn format<B>(request: &Request<B>) -> Format {
    let accepted = request.headers().get_all(ACCEPT);
    let names_it = |value: &HeaderValue| {
        value.to_str().is_ok_and(|text| text.contains("application/openmetrics-text"))
    };
    if accepted.iter().any(names_it) { Format::OpenMetrics } else { Format::Text }
}

fn message(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    of(status, "text/plain; charset=utf-8", Bytes::from_static(text.as_bytes()))
}

fn of(status: StatusCode, kind: &'static str, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
mod tests {
    use super::super::Exposition;
    use super::*;

    fn asked(method: Method, path: &str, accept: Option<&str>) -> Response<Full<Bytes>> {
        let page = Page::default();
        page.publish(Exposition::default());
        let mut request = Request::builder().method(method).uri(path);
        if let Some(accept) = accept {
            request = request.header(ACCEPT, accept);
        }
        response(&request.body(()).expect("a request"), &page)
    }

    fn kind(response: &Response<Full<Bytes>>) -> &str {
        response.headers()[CONTENT_TYPE].to_str().expect("text")
    }

    #[test]
    fn the_format_is_the_one_that_the_client_names() {
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.4,*/*;q=0.2";
        assert_eq!(kind(&asked(Method::GET, "/metrics", Some(prometheus))), OPEN_METRICS);
        assert_eq!(kind(&asked(Method::GET, "/metrics", Some("*/*"))), TEXT);
        assert_eq!(kind(&asked(Method::GET, "/metrics?x=1", None)), TEXT);
    }

    #[test]
    fn nothing_but_reading_two_pages_is_allowed() {
        assert_eq!(asked(Method::GET, "/", None).status(), StatusCode::OK);
        assert_eq!(asked(Method::HEAD, "/metrics", None).status(), StatusCode::OK);
        for path in ["/metrics/", "/-/reload", "/..", "//metrics", "/%2e%2e/metrics"] {
            assert_eq!(asked(Method::GET, path, None).status(), StatusCode::NOT_FOUND, "{path}");
        }
        for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PURGE"] {
            let method = Method::from_bytes(method.as_bytes()).expect("a method");
            let refused = asked(method.clone(), "/metrics", None);
            assert_eq!(refused.status(), StatusCode::METHOD_NOT_ALLOWED, "{method}");
            assert_eq!(refused.headers()[ALLOW], "GET, HEAD");
        }
    }
}
