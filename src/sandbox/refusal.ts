import { OperatorError } from "../domain/operator-error.ts";
import { ourBuild } from "./build.ts";
import { PROTOCOL_VERSION } from "./protocol.ts";
import { decodeHello, type Hello } from "./report.ts";
import { Entries, type Frame, ProtocolError } from "./wire.ts";

/** A failure of the platform: the launcher or a slot is lost, has refused a request, or could not create a box. */
export class SandboxError extends OperatorError {
  override readonly name: string = "SandboxError";
}

/** A step is so large that the launcher would refuse it. It was not sent, so the slot is not lost. */
export class StepSizeError extends SandboxError {
  override readonly name = "StepSizeError";
}

/**
 * Reads the first frame of a connection.
 * @returns the properties of the slot.
 * @throws SandboxError or ProtocolError if there is no slot, or if the launcher has another build than this service.
 */
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

/** The error that a frame means if it comes in place of the expected one. */
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
