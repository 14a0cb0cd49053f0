//! Who speaks: said explicitly wherever somebody is heard, because authority follows from it.

/// Who speaks to an agent. There is no default: whoever opens a conversation says who it is for,
/// so that a forgotten field never speaks with the owner's authority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Speaker {
    /// The owner, by a proof that needs no look into the config.
    Owner(OwnerProof),
    /// Somebody on a channel. Whether that is the owner is for `commands.ownerAllowFrom` to say.
    Sender(Sender),
    /// The runtime itself, or another session through it: nobody who could be the owner.
    Runtime,
}

/// Why somebody is the owner without being looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerProof(());

impl OwnerProof {
    /// Whoever sits at the terminal of the machine that everything here belongs to. Only code
    /// that reads from that terminal may say so.
    pub fn terminal() -> Self {
        Self(())
    }

    /// Whoever showed the owner's token to the gateway, on a surface that is the owner's. Only
    /// code that has compared the token may say so.
    pub fn gateway_token() -> Self {
        Self(())
    }
}

/// Who wrote a message, as far as the channel says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sender {
    pub channel: Option<String>,
    pub id: Option<String>,
    /// Phone number, `+49…`.
    pub e164: Option<String>,
    pub username: Option<String>,
    pub name: Option<String>,
}

impl Sender {
    /// Whether a list of the config names this one, as `channel:id` or `id`.
    pub fn is_one_of(&self, listed: &[String]) -> bool {
        let Some(id) = self.id.as_deref().filter(|id| !id.is_empty()) else {
            return false;
        };
        let full = self
            .channel
            .as_ref()
            .map(|channel| format!("{channel}:{id}"));
        listed.iter().any(|listed| {
            let listed = listed.trim();
            listed == id || full.as_deref() == Some(listed)
        })
    }
}

impl Speaker {
    /// The sender on a channel, for rules per sender.
    pub fn sender(&self) -> Option<&Sender> {
        match self {
            Self::Sender(sender) => Some(sender),
            Self::Owner(_) | Self::Runtime => None,
        }
    }

    /// Who speaks to a session that is started for this one: the rules for a sender go along, the
    /// owner's authority does not.
    #[must_use]
    pub fn on_behalf(&self) -> Self {
        match self {
            Self::Sender(sender) => Self::Sender(sender.clone()),
            Self::Owner(_) | Self::Runtime => Self::Runtime,
        }
    }
}
