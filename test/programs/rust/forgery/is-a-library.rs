// The result of this compilation cannot be executed.
#![crate_type = "lib"]

pub fn nothing() {}
