/**
 * What one process can have in user-mode Linux (`assay test`), about: each of its pages is a mapping of the process that the
 * kernel is, unless it lies beside the one before, and beyond vm.max_map_count the kernel ends it without any counter.
 */
export const PROCESS_BYTES = Number(process.env.ASSAY_TEST_PROCESS_BYTES ?? Number.POSITIVE_INFINITY);

/** Why a program that needs more is not tried there. */
export const TOO_FEW_PAGES = `vm.max_map_count of the host lets no process of this kernel have more than ${PROCESS_BYTES} bytes`;
