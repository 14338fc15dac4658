//! The documents as a book, at `/docs/`.
//!
//! In: requests below `/docs`. Out: pages, their scripts and images. Owns: the policy for these pages. Never: gives a
//! page access to what the UI stores in the browser.

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Redirect, Response};

use crate::files;

/// Content security policy. The sandbox gives the pages an origin of their own: their scripts can neither read the key that
/// the UI stores in the browser nor connect to the daemon.
const POLICY: HeaderValue = HeaderValue::from_static(concat!(
    "sandbox allow-scripts allow-popups allow-popups-to-escape-sandbox; default-src 'none'; script-src 'self'; ",
    "style-src 'self'; img-src 'self'; font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
));

/// Returns whether an address is one of the book.
pub fn contains(path: &str) -> bool {
    path.strip_prefix("/docs")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the file at the address, or `None` if the book has none there.
pub async fn serve(request: Request) -> Option<Response> {
    let inside = request.uri().path().strip_prefix("/docs")?;
    if inside.is_empty() {
        return Some(Redirect::permanent("/docs/").into_response());
    }
    let lasts = has_hash(inside);
    let index = if inside.ends_with('/') { "index.html" } else { "" };
    let file = format!("{}{index}", inside.trim_start_matches('/'));
    let mut response = files::response(&files::DOCS, &file, request.method(), request.headers()).await?;
    let headers = response.headers_mut();
    if !lasts {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    }
    headers.insert(header::CONTENT_SECURITY_POLICY, POLICY);
    // For the browser, a page in a sandbox is of another origin than its own scripts and images.
    headers.insert(
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("cross-origin"),
    );
    Some(response)
}

/// Returns whether a file's name changes with its content: `book-1a2b3c4d.js`.
fn has_hash(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let hash = name.split('.').next().and_then(|stem| stem.rsplit_once('-'));
    hash.is_some_and(|(_, hash)| hash.len() == 8 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use axum::http::StatusCode;

    use super::*;

    async fn get(path: &str) -> Option<Response> {
        serve(Request::builder().uri(path).body(Body::empty()).unwrap()).await
    }

    #[tokio::test]
    async fn the_book_has_an_origin_of_its_own_and_no_inline_scripts() {
        assert!(contains("/docs") && contains("/docs/") && contains("/docs/a.html") && !contains("/docsy"));
        let moved = get("/docs").await.unwrap();
        assert_eq!(moved.headers()[header::LOCATION], "/docs/");
        let page = get("/docs/").await.unwrap();
        let policy = page.headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.starts_with("sandbox allow-scripts "), "{policy}");
        assert!(
            !policy.contains("unsafe") && !policy.contains("allow-same-origin"),
            "{policy}"
        );
        assert_eq!(page.headers()[header::CACHE_CONTROL], "no-cache");
        let text = to_bytes(page.into_body(), 1 << 20).await.unwrap();
        let text = String::from_utf8_lossy(&text);
        assert!(
            !text.contains("<script>") && !text.contains("<style") && !text.contains(" style="),
            "{text}"
        );
        if cfg!(built_docs) {
            for script in text.split("<script src=\"").skip(1) {
                let script = script.split('"').next().unwrap();
                let script = get(&format!("/docs/{script}")).await.unwrap();
                assert_eq!(script.status(), StatusCode::OK);
                let cached = script.headers()[header::CACHE_CONTROL].to_str().unwrap();
                assert!(cached.contains("max-age=31536000"), "{cached}");
            }
            assert_eq!(get("/docs/adr/").await.unwrap().status(), StatusCode::OK);
            let styles = text.split("href=\"theme/book-").nth(1).unwrap();
            let styles = format!("/docs/theme/book-{}", styles.split('"').next().unwrap());
            let styles = get(&styles).await.unwrap().into_body();
            let styles = to_bytes(styles, 1 << 20).await.unwrap();
            // The browser requests no files of fonts: a page in a sandbox would do that by CORS.
            let fonts = String::from_utf8_lossy(&styles)
                .matches("url(\"data:font/woff2;base64,")
                .count();
            assert_eq!(fonts, 2);
        } else {
            assert!(text.contains("make docs"), "{text}");
        }
        assert!(get("/docs/nothing.html").await.is_none());
    }
}
