//! The dashboard behind a path of a proxy that keeps nothing back.

use crate::browser::Browser;
use crate::{origin, server, submit};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

/// Passes what comes for `/gpus/` on to a server; one request on each connection.
fn proxy(to: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let to = to.clone();
            // Whoever breaks it off knows.
            std::thread::spawn(move || drop(pass(stream, &to)));
        }
    });
    address
}

fn pass(mut client: TcpStream, to: &str) -> std::io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let lower = line.to_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if !lower.starts_with("connection:") && line != "\r\n" {
            head.push_str(&line);
        }
        if line == "\r\n" {
            break;
        }
    }
    if !head.split(' ').nth(1).is_some_and(|path| path.starts_with("/gpus/")) {
        return client.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut server = TcpStream::connect(to)?;
    let head = head.replacen(" /gpus/", " /", 1) + "connection: close\r\n\r\n";
    server.write_all(head.as_bytes())?;
    server.write_all(&body)?;
    std::io::copy(&mut server, &mut client)?;
    Ok(())
}

#[test]
fn behind_a_path_everything_works_as_at_the_root() {
    let server = server("proxy", &[]);
    let Some(mut browser) = Browser::open("proxy") else { return };
    let url = format!("http://{}/gpus/", proxy(server.address.clone()));
    browser.sign_in(&url, &server.admin);
    browser.until("document.querySelector('.link')?.textContent === 'Live'");
    submit(&server, "there", "vision", 2, 3000);
    browser.until("document.querySelectorAll('.gpu.held').length === 2");
    browser.view("#/fairness");
    browser.until("document.querySelectorAll('.figure svg').length >= 2");
    browser.was_quiet(&url, false);
    assert_ne!(url, origin(&server));
}
