import { MAX_SAMPLES, type Sample } from "../domain/samples.ts";
import { ProtocolError } from "./wire.ts";

/** Three numbers of 8 bytes. */
const SAMPLE_BYTES = 24;

/** The value of the key SAMPLES. @throws ProtocolError unless times increase and CPU time never decreases. */
export function decodeSamples(bytes: Buffer): Sample[] {
  if (bytes.length % SAMPLE_BYTES !== 0 || bytes.length > MAX_SAMPLES * SAMPLE_BYTES)
    throw new ProtocolError(`SAMPLES of ${bytes.length} bytes`);
  const samples: Sample[] = [];
  let before = { atUsec: 0, cpuUsec: 0 };
  for (let at = 0; at < bytes.length; at += SAMPLE_BYTES) {
    const number = (offset: number) => Number(bytes.readBigUInt64LE(at + offset));
    const sample = { atUsec: number(0), cpuUsec: number(8), memoryBytes: number(16) };
    if (at > 0 && sample.atUsec <= before.atUsec) throw new ProtocolError("SAMPLES whose times do not increase");
    if (sample.cpuUsec < before.cpuUsec) throw new ProtocolError("SAMPLES whose CPU time decreases");
    if (!Object.values(sample).every(Number.isSafeInteger)) throw new ProtocolError("SAMPLES with too large a number");
    samples.push(sample);
    before = sample;
  }
  return samples;
}
