import { dashboardCauses } from "./causes.ts";
import { pythonTypes } from "./client-python.ts";
import { typescriptTypes } from "./client-typescript.ts";
import { grammarNames } from "./grammars.ts";
import { ceilings } from "./protocol.ts";
import { migrationList, schemaTypes } from "./schema.ts";
import { languagePackages, version } from "./shell.ts";

/** Files that are derived from code as a whole. */
export const FILES: Readonly<Record<string, () => string | Promise<string>>> = {
  "client/python/src/assay_client/types.py": pythonTypes,
  "client/typescript/src/types.ts": typescriptTypes,
  "dashboard/src/components/causes.ts": dashboardCauses,
  "dashboard/src/components/editor/grammar-names.ts": grammarNames,
  "image/language-packages": languagePackages,
  "setup/ceilings": ceilings,
  "setup/version": version,
  "src/store/database/schema.ts": schemaTypes,
  "src/store/schema/migrations.ts": migrationList,
};
