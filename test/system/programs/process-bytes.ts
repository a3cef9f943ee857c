/**
 * Approximate memory limit of one process in user-mode Linux (`assay test`). Each page that does not adjoin the one
 * before is a mapping of the kernel's process. Beyond vm.max_map_count mappings, the kernel ends the process without a
 * counter.
 */
export const PROCESS_BYTES = Number(process.env.ASSAY_TEST_PROCESS_BYTES ?? Number.POSITIVE_INFINITY);

/** The reason to skip programs that need more. */
export const TOO_FEW_PAGES = `vm.max_map_count of the host lets no process of this kernel have more than ${PROCESS_BYTES} bytes`;
