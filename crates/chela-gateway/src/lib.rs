//! Many turns: the process that runs for long, its lanes and inbox, HTTP and WebSocket.
//!
//! Work of every kind comes in as a [`WorkItem`] through [`WorkLanes`]: it is on disk before it is
//! acknowledged, the work of one session is done in its order, and what came of it is kept.
//! [`Gateway`] is the process around it; signals and printing are the binary's.
//!
//! Who speaks: whoever shows the owner's token is the owner, on the model interfaces and the
//! WebSocket. A program that serves others names them with `user`; they are senders on the channel
//! `api`, and the owner only where `commands.ownerAllowFrom` says so. Webhooks have a token of
//! their own and speak for nobody: what they say is external. A command of an agent that got hold
//! of the token is refused by where its process comes from.

// This crate reads bytes of others: no text of theirs may end the process.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::string_slice))]

mod access_token;
mod caller_process;
mod caller_tools;
pub mod clock;
mod config_reload;
mod config_standing;
mod delivery;
mod error_reply;
mod event_hub;
mod gateway_link;
mod gateway_state;
mod gateway_tool;
mod http;
mod instance;
mod json_member;
mod known_names;
mod lanes;
mod letter_surface;
mod listen_address;
mod listener;
mod local_client;
mod mcp_callers;
mod process;
mod question_board;
mod quotas;
mod request_guard;
mod restart_desk;
mod service_unit;
mod telemetry;
mod tls;
mod turn_wire;
mod work_delivery;
mod work_item;
mod work_surface;
mod ws_protocol;

pub use access_token::{AccessError, owner_secret, read_or_make_token, rotate_token, token_file};
pub use config_standing::{ConfigStanding, config_stamp};
pub use delivery::{
    CarryFault, CarryFuture, DeliveryCarrier, DeliveryCarriers, DeliveryDesk, DeliveryRefused,
    check_job_delivery,
};
pub use event_hub::{AskerSeat, EventHub, GatewayEvent, MissedEvents, NewEvent};
pub use gateway_link::{ClientEvent, GatewayLink, LinkAsk, LinkError, LinkEvent};
pub use http::read_turn_bodies;
pub use instance::{InstanceError, RunningGateway};
pub use lanes::{SubmitError, WorkCounts, WorkLanes, WorkReceipt};
pub use listen_address::ListenAddressError;
pub use local_client::{LocalClient, LocalReply};
pub use process::{DrainOutcome, Gateway, GatewayAsk, GatewayEnd, GatewayError};
pub use question_board::{AnswerRefused, QuestionBoard};
pub use quotas::{QuotaHolder, QuotaReached, QuotaStanding, QuotaSum, QuotaTally};
pub use restart_desk::RestartAsk;
pub use service_unit::{ServiceManager, ServiceUnit};
pub use tls::{ServerCertificate, TlsSetupError};
pub use turn_wire::{read_event, read_outcome};
pub use work_delivery::{WorkDelivery, delivery_expiry};
pub use work_item::{
    CallerTool, DeliveryTarget, EncodeError, FolderAsk, ToolAsk, WorkImage, WorkItem, WorkOptions,
    WorkOutcome, WorkSource, WorkStatus,
};
pub use ws_protocol::work_of_key;
