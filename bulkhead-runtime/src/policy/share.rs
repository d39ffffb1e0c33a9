//! What the partitions of one dependency may take together.

use super::PolicyError;

/// The capacity of a dependency, and what of it one process may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) capacity: u32,
    pub(crate) spare: u32,
    pub(crate) replicas: u32,
}

impl Share {
    /// What all replicas may take together.
    pub(crate) const fn usable(self) -> u32 {
        self.capacity.saturating_sub(self.spare)
    }

    /// What one replica may take.
    pub(crate) const fn of_a_replica(self) -> u32 {
        match self.usable().checked_div(self.replicas) {
            Some(share) => share,
            None => 0,
        }
    }

    /// Every rule about the three numbers.
    pub(crate) const fn check(self) -> Result<(), PolicyError> {
        if self.capacity == 0 {
            return Err(PolicyError::CapacityZero);
        }
        if self.spare >= self.capacity {
            return Err(PolicyError::SpareNotBelowCapacity {
                spare: self.spare,
                capacity: self.capacity,
            });
        }
        if self.replicas == 0 {
            return Err(PolicyError::ReplicasZero);
        }
        Ok(())
    }

    /// Whether partitions that take `sum` permits in each replica fit.
    ///
    /// In 64 bits: no product of two u32 overflows that.
    pub(crate) const fn fits(self, dependency: &'static str, sum: u64) -> Result<(), PolicyError> {
        let taken = sum.saturating_mul(self.replicas as u64);
        let usable = self.usable() as u64;
        if taken <= usable {
            return Ok(());
        }
        Err(PolicyError::OverCapacity {
            dependency,
            sum,
            taken,
            capacity: self.capacity,
            spare: self.spare,
            replicas: self.replicas,
        })
    }
}
