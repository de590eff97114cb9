//! The door with a lock: TLS, and those who speak something else at it.

use crate::server::{Server, read, says};
use evenhand_core::Time;
use evenhand_live::Clock;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A server that speaks TLS, and the file of the CA that vouches for it.
struct Locked {
    server: Server,
    folder: PathBuf,
    ca: String,
}

/// A CA, in a file.
fn authority(folder: &Path, name: &str) -> (CertifiedIssuer<'static, KeyPair>, String) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let file = folder.join(format!("{name}.pem"));
    std::fs::write(&file, authority.pem()).unwrap();
    (authority, file.display().to_string())
}

impl Locked {
    fn start(test: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("certificates-{test}"));
        std::fs::create_dir_all(&folder).unwrap();
        let (authority, ca) = authority(&folder, "ca");
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &authority).unwrap();
        let (cert, secret) = (folder.join("cert.pem"), folder.join("key.pem"));
        std::fs::write(&cert, certificate.pem()).unwrap();
        std::fs::write(&secret, key.serialize_pem()).unwrap();
        let (cert, secret) = (cert.display().to_string(), secret.display().to_string());
        let server = Server::start(test, &["--tls-cert", &cert, "--tls-key", &secret]);
        Self { server, folder, ca }
    }

    fn port(&self) -> &str {
        self.server.address.split(':').next_back().unwrap()
    }

    /// What the client says to this, with this CA.
    fn client(&self, host: &str, ca: &str, words: &[&str]) -> (bool, String) {
        let url = format!("{host}:{}", self.port());
        let token = self.server.admin.as_str();
        let home = self.folder.display().to_string();
        let environment = [
            ("EVENHAND_SERVER", url.as_str()),
            ("EVENHAND_TOKEN", token),
            ("EVENHAND_CA", ca),
            ("HOME", &home),
        ];
        says(words, &environment)
    }
}

#[test]
fn a_client_that_trusts_the_ca_is_served_and_any_other_refuses_the_server() {
    let locked = Locked::start("tls");
    let (content, said) = locked.client("https://localhost", &locked.ca, &["submit", "--", "true"]);
    assert!(content && said == "job 1", "{said}");
    let (content, said) = locked.client("https://localhost", &locked.ca, &["top", "--once"]);
    assert!(content, "{said}");
    let (_, other) = authority(&locked.folder, "other");
    let (content, said) = locked.client("https://localhost", &other, &["queue"]);
    assert!(!content && said.contains("its certificate is not trusted") && said.contains("--ca"), "{said}");
    let (content, said) = locked.client("https://localhost", &locked.ca, &["queue", "--all", "--ca", &other]);
    assert!(!content && said.contains("its certificate is not trusted"), "{said}");
    let (content, said) = locked.client("https://127.0.0.1", &locked.ca, &["queue"]);
    assert!(!content && said.contains("its certificate is not trusted"), "another name: {said}");
    let (content, said) = locked.client("https://localhost", "/nowhere", &["queue"]);
    assert!(!content && said.contains("--ca: /nowhere cannot be read"), "{said}");
    let (content, said) = locked.client("http://localhost", &locked.ca, &["queue"]);
    assert!(!content && said.contains("should it be https://?"), "{said}");
}

#[test]
fn whoever_speaks_something_else_or_dawdles_at_the_handshake_is_cut_off() {
    let mut locked = Locked::start("tls-hostile");
    for raw in ["GET /v1/health HTTP/1.1\r\nhost: x\r\n\r\n", "\u{16}\u{3}\u{1}\u{7f}", "", "\r\n\r\n"] {
        let mut stream = TcpStream::connect(&locked.server.address).unwrap();
        stream.write_all(raw.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let answer = read(&mut stream);
        assert_eq!(answer.status, 0, "{raw:?}: {answer:?}");
    }
    let mut slow: Vec<_> = (0..100).map(|_| TcpStream::connect(&locked.server.address).unwrap()).collect();
    // The beginning of a greeting, and no more.
    slow[0].write_all(&[0x16, 0x03, 0x01, 0x02, 0x00, 0x01]).unwrap();
    let clock = Clock::start();
    let (content, said) = locked.client("https://localhost", &locked.ca, &["queue"]);
    assert!(content && clock.now() < Time(5_000), "others are answered meanwhile: {said}");
    for stream in &mut slow[..2] {
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        assert!(stream.read_to_end(&mut Vec::new()).is_ok(), "it is closed, not left open");
    }
    assert!(clock.now() > Time(5_000) && clock.now() < Time(25_000), "{:?}", clock.now());
    assert!(locked.server.is_alive());
}

#[test]
fn files_that_are_no_certificate_or_no_key_are_refused_by_name() {
    let locked = Locked::start("tls-files");
    let file = |name: &str| locked.folder.join(name).display().to_string();
    std::fs::write(file("another.pem"), KeyPair::generate().unwrap().serialize_pem()).unwrap();
    std::fs::write(file("cut.pem"), &std::fs::read(file("cert.pem")).unwrap()[..200]).unwrap();
    for (cert, key, expected) in [
        ("none.pem", "key.pem", "none.pem cannot be read"),
        ("cert.pem", "none.pem", "none.pem cannot be read"),
        ("key.pem", "key.pem", "key.pem has no certificate in it"),
        ("cert.pem", "cert.pem", "cert.pem has no private key in it"),
        ("cut.pem", "key.pem", "cut.pem cannot be understood as PEM"),
        ("cert.pem", "another.pem", "does not belong to the certificate in"),
    ] {
        let (cert, key, state) = (file(cert), file(key), file("state"));
        let words =
            ["serve", "--fake-gpus", "v100=1", "--state", &state, "--tls-cert", &cert, "--tls-key", &key];
        let (content, said) = says(&words, &[]);
        assert!(!content && said.contains(expected), "{said}");
    }
    assert!(!locked.folder.join("state").exists(), "nothing is made before the files are read");
}
