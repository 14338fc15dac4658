//! The web UI, as files of the binary.
//!
//! In: requests for a page or a file. Out: the file, compressed, with what a browser has to know of it. Owns: the
//! files that `make web` had built when the binary was. Never: knows who asks; the page itself is no secret.

use std::sync::OnceLock;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::Response;
use memory_serve::CacheControl;
use tower_service::Service;

/// What pages may do: show and run what comes from here, talk to here, nothing else.
const POLICY: HeaderValue = HeaderValue::from_static(concat!(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; ",
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
));

/// Nothing that a page of this kind has use for, but for writing to the clipboard when somebody asks for it.
const PERMISSIONS: HeaderValue = HeaderValue::from_static(concat!(
    "camera=(), clipboard-read=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=(), ",
    "clipboard-write=(self)",
));

/// Whether the UI is in this binary. Otherwise there is a page that says how to get it there.
pub const BUILT: bool = cfg!(built);

/// The file at the address, or the page itself, which knows what its own addresses mean. `None` where no page could
/// be meant.
pub async fn serve(request: Request) -> Option<Response> {
    let path = request.uri().path();
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let is_ours = ["/api", "/ws", "/acp"].iter().any(|taken| {
        path.strip_prefix(taken)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    if !is_read || is_ours {
        return None;
    }
    // The names of these change with their content.
    let lasts = path.starts_with("/assets/");
    let is_file = path.rsplit('/').next().is_some_and(|name| name.contains('.'));
    let mut page = request;
    if !is_file {
        *page.uri_mut() = Uri::from_static("/");
    }
    let mut response = match files().clone().call(page).await {
        Ok(response) => response,
        Err(never) => match never {},
    };
    if response.status() == StatusCode::NOT_FOUND {
        return None;
    }
    let headers = response.headers_mut();
    if !lasts {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    }
    headers.insert(header::CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(HeaderName::from_static("permissions-policy"), PERMISSIONS);
    headers.insert(
        HeaderName::from_static("cross-origin-opener-policy"),
        HeaderValue::from_static("same-origin"),
    );
    Some(response)
}

/// Unpacked when somebody first asks for a page: most daemons' clients have none.
fn files() -> &'static Router {
    static FILES: OnceLock<Router> = OnceLock::new();
    FILES.get_or_init(|| {
        memory_serve::load!()
            .index_file(Some("/index.html"))
            .html_cache_control(CacheControl::NoCache)
            .cache_control(CacheControl::Long)
            .enable_brotli(true)
            .enable_gzip(true)
            .into_router()
    })
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    async fn get(path: &str, method: Method) -> Option<Response> {
        let request = Request::builder().uri(path).method(method);
        serve(request.body(Body::empty()).unwrap()).await
    }

    #[tokio::test]
    async fn a_page_is_served_at_every_address_that_is_not_taken() {
        for path in ["/", "/threads/019a", "/apiary", "/wss"] {
            let page = get(path, Method::GET).await.unwrap();
            assert_eq!(page.status(), StatusCode::OK, "{path}");
            let header = |name| page.headers()[name].to_str().unwrap();
            assert!(header(header::CONTENT_TYPE).starts_with("text/html"));
            assert_eq!(header(header::CACHE_CONTROL), "no-cache");
            assert!(
                header(header::CONTENT_SECURITY_POLICY).starts_with("default-src 'none'; script-src 'self';")
            );
        }
        assert!(get("/", Method::HEAD).await.is_some());
    }

    #[tokio::test]
    async fn what_is_no_page_is_none() {
        for path in [
            "/api",
            "/api/nothing",
            "/ws",
            "/acp",
            "/acp/x",
            "/assets/gone.js",
            "/favicon.gone",
        ] {
            assert!(get(path, Method::GET).await.is_none(), "{path}");
        }
        assert!(get("/", Method::POST).await.is_none());
    }

    #[tokio::test]
    async fn who_has_the_page_is_not_sent_it_again() {
        let page = get("/", Method::GET).await.unwrap();
        let tag = page.headers()[header::ETAG].clone();
        let request = Request::builder().uri("/").header(header::IF_NONE_MATCH, tag);
        let again = serve(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    }
}
