//! Floor 0: what everything else stands on.
