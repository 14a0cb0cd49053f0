//! Keys that stand more than once in an object.

use std::collections::HashMap;

use crate::node::NodeMember;

/// Pairs of an overridden member and the one that counts instead.
pub fn duplicates(members: &[NodeMember]) -> Vec<(usize, usize)> {
    const FEW: usize = 12;
    if members.len() <= FEW {
        return members
            .iter()
            .enumerate()
            .filter_map(|(index, member)| {
                let last = members.iter().rposition(|other| other.key == member.key)?;
                (last > index).then_some((index, last))
            })
            .collect();
    }
    let mut last: HashMap<&str, usize> = HashMap::with_capacity(members.len());
    let mut pairs = Vec::new();
    for (index, member) in members.iter().enumerate().rev() {
        match last.get(member.key.as_str()) {
            Some(counts) => pairs.push((index, *counts)),
            None => {
                last.insert(&member.key, index);
            }
        }
    }
    pairs
}
