import { OperatorError } from "../domain/operator-error.ts";
import { ourBuild } from "./build.ts";
import { PROTOCOL_VERSION } from "./protocol.ts";
import { decodeHello, type Hello } from "./report.ts";
import { Entries, type Frame, ProtocolError } from "./wire.ts";

/** The launcher or a slot is lost, refused the request or could not create a box: a platform failure. */
export class SandboxError extends OperatorError {
  override readonly name: string = "SandboxError";
}

/** A step that the launcher would refuse for its size. The slot is not lost. */
export class StepSizeError extends SandboxError {
  override readonly name = "StepSizeError";
}

/** @returns the properties of a slot. @throws SandboxError or ProtocolError if there is no slot, or if its launcher is of another build. */
export function greet(frame: Frame): Hello {
  if (frame.name !== "HELLO") throw refusal(frame);
  const entries = new Entries(frame);
  if (entries.int("PROTOCOL") !== PROTOCOL_VERSION) {
    throw new ProtocolError(`the launcher uses protocol ${entries.int("PROTOCOL")}, not ${PROTOCOL_VERSION}`);
  }
  const hello = decodeHello(entries);
  if (hello.build !== ourBuild()) {
    throw new ProtocolError(`the launcher has another build (${hello.build}) than this service (${ourBuild()})`);
  }
  return hello;
}

/** The error that a frame in place of an expected one means. */
export function refusal(frame: Frame): Error {
  if (frame.name === "FAILED") {
    const entries = new Entries(frame);
    const what = `${entries.text("STEP_NAME")} ${entries.text("STEP_OBJECT")}`;
    return new SandboxError(`no box: ${what} (errno ${entries.int("STEP_ERRNO")})`);
  }
  if (frame.name === "REFUSED") {
    const entries = new Entries(frame);
    return new SandboxError(`the launcher refused the request: ${entries.text("OBJECT")} ${entries.text("REASON")}`);
  }
  return new ProtocolError(`unexpected ${frame.name}`);
}
