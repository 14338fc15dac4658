//! The web UI and the documents, embedded in the binary.
//!
//! In: requests for a page or a file. Out: the file, compressed, with its response headers. Owns: the files that `make
//! web` and `make docs` had built before the binary. Never: authenticates the client; the pages are not secret.

mod docs;
mod files;

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;

/// Content security policy: a page may load and run only this server's content, and connect only to it.
const POLICY: HeaderValue = HeaderValue::from_static(concat!(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; ",
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
));

/// Denies every browser feature that the UI does not use. Writing to the clipboard stays allowed, after a click.
const PERMISSIONS: HeaderValue = HeaderValue::from_static(concat!(
    "camera=(), clipboard-read=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=(), ",
    "clipboard-write=(self)",
));

/// Whether this binary contains the UI. Otherwise it serves a page with build instructions.
pub const BUILT: bool = cfg!(built);

/// The first segments of the page's own addresses, besides `/`.
const VIEWS: [&str; 5] = ["threads", "agents", "policy", "usage", "archive"];

/// Returns the file at the address, or the page itself, which routes its own addresses. A browser that asks for an unknown
/// address receives the page with the status 404. Returns `None` if the address is unknown to other clients.
pub async fn serve(request: Request) -> Option<Response> {
    let path = request.uri().path();
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let first = path.split('/').nth(1).unwrap_or_default();
    let is_taken = ["api", "ws", "acp"].contains(&first);
    if !is_read || is_taken {
        return None;
    }
    if docs::contains(path) {
        return docs::serve(request).await;
    }
    // File names in this directory change with their content.
    let lasts = path.starts_with("/assets/");
    let is_file = path.rsplit('/').next().is_some_and(|name| name.contains('.'));
    let is_known = is_file || first.is_empty() || VIEWS.contains(&first);
    if !is_known && !accepts_html(&request) {
        return None;
    }
    let file = if is_file {
        path.trim_start_matches('/')
    } else {
        "index.html"
    };
    let mut response = files::response(&files::UI, file, request.method(), request.headers()).await?;
    if !is_known {
        *response.status_mut() = StatusCode::NOT_FOUND;
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

/// Returns whether the client names HTML as a type that it accepts, as browsers do.
fn accepts_html(request: &Request) -> bool {
    let accepted = request.headers().get_all(header::ACCEPT).iter();
    accepted
        .filter_map(|types| types.to_str().ok())
        .any(|types| types.contains("text/html"))
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
        for path in ["/", "/threads/019a", "/agents", "/policy", "/usage", "/archive"] {
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
    async fn unknown_paths_have_no_page() {
        for path in [
            "/api",
            "/api/nothing",
            "/ws",
            "/acp",
            "/acp/x",
            "/assets/gone.js",
            "/favicon.gone",
            "/apiary",
            "/wss",
        ] {
            assert!(get(path, Method::GET).await.is_none(), "{path}");
        }
        assert!(get("/", Method::POST).await.is_none());
    }

    #[tokio::test]
    async fn a_browser_receives_the_page_at_an_unknown_address_with_404() {
        let request = Request::builder()
            .uri("/nosuch")
            .header(header::ACCEPT, "text/html,*/*;q=0.8");
        let page = serve(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(page.status(), StatusCode::NOT_FOUND);
        assert!(
            page.headers()[header::CONTENT_TYPE]
                .to_str()
                .unwrap()
                .starts_with("text/html")
        );
    }

    #[tokio::test]
    async fn a_cached_page_is_not_sent_again() {
        let page = get("/", Method::GET).await.unwrap();
        let tag = page.headers()[header::ETAG].clone();
        let request = Request::builder().uri("/").header(header::IF_NONE_MATCH, tag);
        let again = serve(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    }
}
