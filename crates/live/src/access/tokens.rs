//! The file of tokens in the state folder. A token is 256 random bits that its bearer is told once; here is only its SHA-256.

use super::role::{Role, Who};
use super::wanted::WantedToken;
use crate::account::own_user;
use crate::clock::system_ms;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The file of tokens in the state folder.
pub const TOKENS_FILE: &str = "tokens.json";

/// The file in the state folder with a token for the user to whom the folder belongs.
pub const OWN_TOKEN_FILE: &str = "token";

/// The name of that token.
pub const OWN_TOKEN_NAME: &str = "owner";

/// What tokens begin with, so that people and scanners of leaked secrets know one when they see it.
const PREFIX: &str = "evenhand_";

/// The most tokens there may be: each is compared with whatever is shown.
const TOKENS_MAX: usize = 1000;

/// A token as it is kept and listed, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// What it is called.
    pub name: String,
    /// What its bearer may do.
    pub role: Role,
    /// The tenant whose it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The system user as whom its jobs run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// When its secret was made, in milliseconds since 1970.
    pub made_ms: u64,
}

impl Token {
    /// Whoever shows it.
    pub(super) fn bearer(&self) -> Who {
        let Self { name, role, tenant, user, .. } = self.clone();
        Who { name, role, tenant, user }
    }
}

/// A token that was just made: the only time that its secret is shown.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewToken {
    /// What it is called.
    pub name: String,
    /// What to send as `Authorization: Bearer`.
    pub secret: String,
}

/// Why tokens were not changed.
#[derive(Debug, Error)]
pub enum TokenError {
    /// What was asked for makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// There is one of this name.
    #[error("there is a token `{0}` already: rotate it, or choose another name")]
    Taken(String),
    /// There is none of this name.
    #[error("there is no token `{0}`")]
    Unknown(String),
    /// The file cannot be used.
    #[error("{}: {source}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What came back.
        source: io::Error,
    },
}

/// As kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    token: Token,
    sha256: String,
}

/// The tokens of a state folder, as they were when they were read.
#[derive(Clone, Debug, Default)]
pub struct Tokens {
    kept: Vec<Kept>,
}

impl Tokens {
    /// Reads them; there are none if there is no file.
    pub fn read(state: &Path) -> Result<Self, TokenError> {
        let path = state.join(TOKENS_FILE);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(TokenError::File { path, source }),
        };
        let kept = serde_json::from_slice(&text)
            .map_err(|error| TokenError::File { path, source: io::Error::other(error) })?;
        Ok(Self { kept })
    }

    /// All of them, without secrets.
    pub fn list(&self) -> impl Iterator<Item = &Token> {
        self.kept.iter().map(|kept| &kept.token)
    }

    /// Whose secret this is. Takes as long whichever it is and however much of it is right.
    pub fn identify(&self, secret: &str) -> Option<Who> {
        self.shown(secret).map(Token::bearer)
    }

    /// The token with this name, if its secret is still the one that was made then.
    pub(super) fn still(&self, name: &str, made_ms: u64) -> Option<&Token> {
        self.list().find(|token| token.name == name && token.made_ms == made_ms)
    }

    /// The token whose secret this is.
    pub(super) fn shown(&self, secret: &str) -> Option<&Token> {
        let shown = hash(secret);
        let mut found = None;
        for kept in &self.kept {
            if is_same(kept.sha256.as_bytes(), shown.as_bytes()) {
                found = Some(&kept.token);
            }
        }
        found
    }
}

/// Makes a token; its secret is in the answer and nowhere else.
pub fn add_token(state: &Path, wanted: WantedToken) -> Result<NewToken, TokenError> {
    wanted.check()?;
    change(state, |tokens| {
        if tokens.list().any(|token| token.name == wanted.name) {
            return Err(TokenError::Taken(wanted.name.clone()));
        }
        if tokens.kept.len() >= TOKENS_MAX {
            return Err(TokenError::Invalid(format!("there are {TOKENS_MAX} tokens already: revoke some")));
        }
        let WantedToken { name, role, tenant, user } = wanted;
        let secret = new_secret(state)?;
        let token = Token { name: name.clone(), role, tenant, user, made_ms: system_ms() };
        tokens.kept.push(Kept { token, sha256: hash(&secret) });
        Ok(NewToken { name, secret })
    })
}

/// Makes a token useless from now on.
pub fn revoke_token(state: &Path, name: &str) -> Result<(), TokenError> {
    change(state, |tokens| {
        let before = tokens.kept.len();
        tokens.kept.retain(|kept| kept.token.name != name);
        if tokens.kept.len() == before { Err(TokenError::Unknown(name.to_owned())) } else { Ok(()) }
    })
}

/// Gives a token a new secret; the old one is useless from now on.
pub fn rotate_token(state: &Path, name: &str) -> Result<NewToken, TokenError> {
    let secret = change(state, |tokens| {
        let kept = tokens.kept.iter_mut().find(|kept| kept.token.name == name);
        let kept = kept.ok_or_else(|| TokenError::Unknown(name.to_owned()))?;
        let secret = new_secret(state)?;
        kept.sha256 = hash(&secret);
        kept.token.made_ms = system_ms();
        Ok(secret)
    })?;
    if name == OWN_TOKEN_NAME {
        write_private(&state.join(OWN_TOKEN_FILE), secret.as_bytes())?;
    }
    Ok(NewToken { name: name.to_owned(), secret })
}

/// Where there are no tokens at all, makes one for the user to whom the folder belongs, so that their own client works at once.
pub fn make_own_token(state: &Path) -> Result<(), TokenError> {
    if Tokens::read(state)?.list().next().is_some() {
        return Ok(());
    }
    let name = OWN_TOKEN_NAME.to_owned();
    let wanted = WantedToken { name, role: Role::Admin, tenant: None, user: own_user() };
    let made = add_token(state, wanted)?;
    write_private(&state.join(OWN_TOKEN_FILE), made.secret.as_bytes())
}

/// Changes the file as one, whoever else changes it at the same time.
fn change<T>(
    state: &Path,
    change: impl FnOnce(&mut Tokens) -> Result<T, TokenError>,
) -> Result<T, TokenError> {
    let path = state.join("tokens.lock");
    let failed = |source| TokenError::File { path: path.clone(), source };
    let lock = OpenOptions::new().create(true).append(true).mode(0o600).open(&path).map_err(failed)?;
    flock(&lock, FlockOperation::LockExclusive).map_err(|error| failed(error.into()))?;
    let mut tokens = Tokens::read(state)?;
    let done = change(&mut tokens)?;
    let text = serde_json::to_vec_pretty(&tokens.kept).expect("tokens can be written as JSON");
    write_private(&state.join(TOKENS_FILE), &text)?;
    Ok(done)
}

/// Puts a file in place as a whole, for its owner alone, and on disk: a token that was revoked stays so after a power cut.
pub(super) fn write_private(path: &Path, text: &[u8]) -> Result<(), TokenError> {
    let write = || -> io::Result<()> {
        let new = path.with_extension("new");
        let _ = fs::remove_file(&new);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        file.write_all(text)?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
    };
    write().map_err(|source| TokenError::File { path: path.to_owned(), source })
}

pub(super) fn new_secret(state: &Path) -> Result<String, TokenError> {
    let mut bits = [0_u8; 32];
    let got = rustix::rand::getrandom(&mut bits, rustix::rand::GetRandomFlags::empty());
    let failed = |source| TokenError::File { path: state.to_owned(), source };
    let got = got.map_err(|error| failed(error.into()))?;
    assert_eq!(got, bits.len(), "the kernel gives up to 256 bytes whole");
    Ok(format!("{PREFIX}{}", hex(&bits)))
}

pub(super) fn hash(secret: &str) -> String {
    hex(&Sha256::digest(secret.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string can be written to");
        text
    })
}

/// Compares without stopping at the first difference, so that the time taken tells nothing.
pub(super) fn is_same(one: &[u8], other: &[u8]) -> bool {
    let differing = one.iter().zip(other).fold(0, |differing, (a, b)| differing | (a ^ b));
    std::hint::black_box(differing) == 0 && one.len() == other.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn folder(test: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("evenhand-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn wanted(name: &str, role: Role, tenant: Option<&str>) -> WantedToken {
        WantedToken { name: name.to_owned(), role, tenant: tenant.map(str::to_owned), user: None }
    }

    #[test]
    fn a_token_is_known_until_it_is_rotated_or_revoked_and_its_secret_is_nowhere() {
        let state = folder("tokens");
        let made = add_token(&state, wanted("v", Role::Tenant, Some("vision"))).unwrap();
        let who = |secret: &str| Tokens::read(&state).unwrap().identify(secret);
        assert_eq!(who(&made.secret).unwrap().tenant.as_deref(), Some("vision"));
        let text = fs::read_to_string(state.join(TOKENS_FILE)).unwrap();
        assert!(!text.contains(made.secret.strip_prefix(PREFIX).unwrap()), "{text}");
        let mode = fs::metadata(state.join(TOKENS_FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(matches!(
            add_token(&state, wanted("v", Role::Admin, None)),
            Err(TokenError::Taken(name)) if name == "v"
        ));
        let rotated = rotate_token(&state, "v").unwrap();
        assert_eq!(who(&made.secret), None);
        assert_eq!(who(&rotated.secret).unwrap().name, "v");
        revoke_token(&state, "v").unwrap();
        assert_eq!(who(&rotated.secret), None);
        assert!(matches!(revoke_token(&state, "v"), Err(TokenError::Unknown(_))));
        fs::remove_dir_all(&state).unwrap();
    }

    #[test]
    fn the_first_start_makes_a_token_and_the_second_none() {
        let state = folder("own-token");
        make_own_token(&state).unwrap();
        let own = fs::read_to_string(state.join(OWN_TOKEN_FILE)).unwrap();
        make_own_token(&state).unwrap();
        assert_eq!(fs::read_to_string(state.join(OWN_TOKEN_FILE)).unwrap(), own);
        assert_eq!(Tokens::read(&state).unwrap().identify(&own).unwrap().role, Role::Admin);
        rotate_token(&state, OWN_TOKEN_NAME).unwrap();
        let new = fs::read_to_string(state.join(OWN_TOKEN_FILE)).unwrap();
        assert_ne!(new, own);
        assert!(Tokens::read(&state).unwrap().identify(&new).is_some());
        fs::remove_dir_all(&state).unwrap();
    }

    #[test]
    fn tokens_that_make_no_sense_are_refused() {
        let state = folder("odd-tokens");
        let odd = [
            wanted("", Role::Admin, None),
            wanted("a/b", Role::Admin, None),
            wanted("a", Role::Tenant, None),
            wanted("a", Role::Admin, Some("t")),
            wanted("a", Role::Tenant, Some("")),
            WantedToken { user: Some("no such user".to_owned()), ..wanted("a", Role::Admin, None) },
            WantedToken { user: own_user(), ..wanted("a", Role::ReadOnly, None) },
        ];
        for wanted in odd {
            assert!(matches!(add_token(&state, wanted), Err(TokenError::Invalid(_))));
        }
        fs::remove_dir_all(&state).unwrap();
    }
}
