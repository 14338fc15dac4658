//! The end of a certificate, read from its DER: <https://www.rfc-editor.org/rfc/rfc5280#section-4.1>.
//!
//! In: PEM or DER. Out: a time. Never: trusts a length of the file, or verifies the certificate.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;

const INTEGER: u8 = 0x02;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
/// The version of a certificate, which the first one lacks.
const VERSION: u8 = 0xa0;

/// Returns when the first certificate of a PEM file ends; `None` if it has no certificate that can be read.
pub fn not_after(pem: &[u8]) -> Option<Timestamp> {
    let certificate = CertificateDer::pem_slice_iter(pem).next()?.ok()?;
    not_after_of_der(&certificate)
}

/// Returns when a certificate ends; `None` if it cannot be read.
pub fn not_after_of_der(certificate: &[u8]) -> Option<Timestamp> {
    let (_, certificate, _) = expect(certificate, SEQUENCE)?;
    let (_, body, _) = expect(certificate, SEQUENCE)?;
    let body = match element(body)? {
        (VERSION, _, rest) => rest,
        _ => body,
    };
    let (_, _, body) = expect(body, INTEGER)?;
    // The algorithm of the signature, and the issuer.
    let (_, _, body) = expect(body, SEQUENCE)?;
    let (_, _, body) = expect(body, SEQUENCE)?;
    let (_, validity, _) = expect(body, SEQUENCE)?;
    let (_, _, after) = element(validity)?;
    let (kind, time, _) = element(after)?;
    time_of(kind, std::str::from_utf8(time).ok()?)
}

/// Returns the first element: its kind, its content, and the bytes after it.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&kind, rest) = bytes.split_first()?;
    let (&first, mut rest) = rest.split_first()?;
    let mut length = usize::from(first);
    if first >= 0x80 {
        let digits = usize::from(first & 0x7f);
        if !(1..=4).contains(&digits) || rest.len() < digits {
            return None;
        }
        let (number, after) = rest.split_at(digits);
        length = number
            .iter()
            .fold(0, |length, digit| length << 8 | usize::from(*digit));
        rest = after;
    }
    let (content, rest) = rest.split_at_checked(length)?;
    Some((kind, content, rest))
}

fn expect(bytes: &[u8], kind: u8) -> Option<(u8, &[u8], &[u8])> {
    element(bytes).filter(|(found, _, _)| *found == kind)
}

fn time_of(kind: u8, text: &str) -> Option<Timestamp> {
    let digits = text.strip_suffix('Z')?;
    // Without this, a sign would be a part of the year.
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = match (kind, digits.len()) {
        // Two digits of the year: from 50, they are of the last century.
        (UTC_TIME, 12) if digits >= "50" => format!("19{digits}"),
        (UTC_TIME, 12) => format!("20{digits}"),
        (GENERALIZED_TIME, 14) => digits.to_owned(),
        _ => return None,
    };
    let time = DateTime::strptime("%Y%m%d%H%M%S", digits).ok()?;
    let time = time.to_zoned(TimeZone::UTC);
    // The last day of the year 9999 means that the certificate has no end. It is later than every timestamp.
    Some(time.map_or(Timestamp::MAX, |time| time.timestamp()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrap(kind: u8, content: &[u8]) -> Vec<u8> {
        [&[kind, u8::try_from(content.len()).unwrap()], content].concat()
    }

    fn certificate(kind: u8, end: &str) -> Vec<u8> {
        let validity = [wrap(UTC_TIME, b"250101000000Z"), wrap(kind, end.as_bytes())].concat();
        let body = [
            wrap(VERSION, &wrap(INTEGER, &[2])),
            wrap(INTEGER, &[1]),
            wrap(SEQUENCE, &[]),
            wrap(SEQUENCE, &[]),
            wrap(SEQUENCE, &validity),
        ]
        .concat();
        wrap(SEQUENCE, &wrap(SEQUENCE, &body))
    }

    #[test]
    fn both_forms_of_time_are_read() {
        for (kind, end, expected) in [
            (UTC_TIME, "301231235959Z", Some("2030-12-31T23:59:59Z")),
            (UTC_TIME, "991231235959Z", Some("1999-12-31T23:59:59Z")),
            (GENERALIZED_TIME, "20500101000000Z", Some("2050-01-01T00:00:00Z")),
            // The end of a certificate that has none. No Timestamp is as late.
            (
                GENERALIZED_TIME,
                "99991231235959Z",
                Some("9999-12-30T22:00:00.999999999Z"),
            ),
            (GENERALIZED_TIME, "20500101000000", None),
            (GENERALIZED_TIME, "never", None),
            (GENERALIZED_TIME, "-20500101000000Z", None),
            (GENERALIZED_TIME, "+20500101000000Z", None),
            (GENERALIZED_TIME, "2050010100000Z", None),
            (GENERALIZED_TIME, "20501301000000Z", None),
            (GENERALIZED_TIME, "2050 101000000Z", None),
            (UTC_TIME, "3012312359Z", None),
            (UTC_TIME, "30123123595Z", None),
            (UTC_TIME, "é0101000000Z", None),
            (INTEGER, "301231235959Z", None),
        ] {
            let found = not_after_of_der(&certificate(kind, end)).map(|end| end.to_string());
            assert_eq!(found.as_deref(), expected, "{end}");
        }
    }

    #[test]
    fn no_part_of_a_certificate_is_one() {
        let whole = certificate(UTC_TIME, "301231235959Z");
        for length in 0..whole.len() {
            assert_eq!(not_after_of_der(&whole[..length]), None, "{length}");
        }
        assert_eq!(not_after_of_der(&[SEQUENCE, 0x84, 0xff, 0xff, 0xff, 0xff]), None);
        assert_eq!(not_after(b"no certificate"), None);
    }
}
