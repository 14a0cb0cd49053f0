//! One turn: a message goes in, the model is called, tools run, an answer comes out.

mod event;
mod limits;
mod tail;

pub use event::{
    ContextMeter, Delivery, Ended, Reply, ReplyTo, Silence, Surface, TurnEvent, TurnOutcome,
};
