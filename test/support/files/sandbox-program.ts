import type { FileProgram } from "../../../src/files/program.ts";
import type { HeldSandbox } from "../../../src/sandbox/held-sandbox.ts";
import { execution, type Options } from "../launcher/sandbox.ts";

/** Starts the file program of the image as an execution. */
export async function startFileProgram(box: HeldSandbox, options: Options = {}): Promise<FileProgram> {
  const slot = await box.attach();
  const waiting: { readonly bytes: Buffer; readonly taken: () => void }[] = [];
  let wake = () => {};
  let isOver = false;
  const end = () => {
    isOver = true;
    wake();
  };
  const step = execution(["/opt/assay/files"], { live: true, paced: true, ...options });
  slot
    .run(
      step,
      (_, bytes) =>
        new Promise<void>((taken) => {
          waiting.push({ bytes: Buffer.from(bytes), taken });
          wake();
        }),
    )
    .then(end, end);
  async function* chunks() {
    for (;;) {
      const next = waiting.shift();
      if (next) {
        next.taken();
        yield next.bytes;
      } else if (isOver) {
        return;
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  }
  return { output: chunks(), write: (bytes) => slot.input(bytes), kill: () => slot.close() };
}
