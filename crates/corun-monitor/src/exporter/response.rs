//! Response to a request: the metrics, a page that links to them, or no.

use std::net::IpAddr;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE, HOST, HeaderValue};
use hyper::http::uri::Authority;
use hyper::{Method, Request, Response, StatusCode};

use super::{Format, Page};

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";

const INDEX: &str = "<!doctype html><title>corun exporter</title>\
    <h1>corun exporter</h1><p><a href=\"/metrics\">Metrics</a></p>\n";

/// The names by which a server may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// Addresses and `localhost`. A browser sends a page's own name: one that its owner lets point here (DNS rebinding) reads
    /// nothing.
    Local,
    /// Any: those by which other hosts call this one are not known here.
    Any,
}

/// The response to a request, whose body is not read.
pub(super) fn response<B>(
    request: &Request<B>,
    page: &Page,
    names: Names,
) -> Response<Full<Bytes>> {
    if names == Names::Local && !is_for_this_host(request) {
        return message(
            StatusCode::MISDIRECTED_REQUEST,
            "expected a Host that is an address or localhost, found another name\n",
        );
    }
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

/// True if a request names this host, or no host at all, which no browser does.
fn is_for_this_host<B>(request: &Request<B>) -> bool {
    let named = request.headers().get_all(HOST).iter().map(HeaderValue::as_bytes);
    let mut named = named.map(|it| Authority::try_from(it).is_ok_and(|it| is_local(it.host())));
    request.uri().host().is_none_or(is_local) && named.all(|it| it)
}

fn is_local(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    address.is_ok() || host.eq_ignore_ascii_case("localhost")
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
        let mut request = Request::builder().method(method).uri(path);
        if let Some(accept) = accept {
            request = request.header(ACCEPT, accept);
        }
        answered(request, Names::Local)
    }

    fn answered(request: hyper::http::request::Builder, names: Names) -> Response<Full<Bytes>> {
        let page = Page::default();
        page.publish(Exposition::default());
        response(&request.body(()).expect("a request"), &page, names)
    }

    /// A name that its owner lets point at this host sends the browser of a user here.
    #[test]
    fn other_names_are_answered_to_other_hosts_alone() {
        let of = |host: &str, names| {
            answered(Request::builder().uri("/metrics").header(HOST, host), names).status()
        };
        for local in
            ["127.0.0.1:9745", "[::1]:9745", "[::1]", "localhost", "LocalHost:80", "10.0.0.7"]
        {
            assert_eq!(of(local, Names::Local), StatusCode::OK, "{local}");
        }
        for other in
            ["evil.example", "evil.example:9745", "localhost.evil.example", "127.0.0.1.nip.io", ""]
        {
            assert_eq!(of(other, Names::Local), StatusCode::MISDIRECTED_REQUEST, "{other}");
        }
        assert_eq!(of("node7:9745", Names::Any), StatusCode::OK);
        let two = Request::builder()
            .uri("/metrics")
            .header(HOST, "localhost")
            .header(HOST, "evil.example");
        assert_eq!(answered(two, Names::Local).status(), StatusCode::MISDIRECTED_REQUEST);
        let absolute = Request::builder().uri("http://evil.example/metrics");
        assert_eq!(answered(absolute, Names::Local).status(), StatusCode::MISDIRECTED_REQUEST);
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
