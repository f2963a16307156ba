//! QEMU's client, once for each version of its plugin interface.

use std::path::Path;

use super::{compiler, pack, run};

const VERSIONS: [u32; 2] = [1, 2];
const SOURCE: &str = "clients/qemu/client.c";

pub(super) fn build(out: &Path) {
    for version in VERSIONS {
        let client = out.join(format!("qemu-client-{version}.so"));
        let mut command = compiler();
        command.arg("-pthread").arg(format!("-DQEMU_PLUGIN_VERSION={version}")).arg(SOURCE);
        run(command.arg("-o").arg(&client), "a C compiler");
        pack(&client, out);
    }
}
