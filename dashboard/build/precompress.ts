import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { Plugin } from "vite";

const BEST = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };
const TEXT = /\.(js|css|html|svg)$/;
const [asBrotli, asGzip] = [promisify(brotliCompress), promisify(gzip)];

/** Compresses each text file to `.br` and `.gz` at the highest level, so that the service need not do it for each request. */
export function precompress(): Plugin {
  return {
    name: "assay-precompress",
    apply: "build",
    generateBundle: {
      // After Vite's own, which makes index.html.
      order: "post",
      async handler(_options, bundle) {
        const texts = Object.values(bundle).filter(({ fileName }) => TEXT.test(fileName));
        await Promise.all(
          texts.map(async (file) => {
            const bytes = Buffer.from(file.type === "chunk" ? file.code : file.source);
            const source = { br: await asBrotli(bytes, BEST), gz: await asGzip(bytes, { level: 9 }) };
            this.emitFile({ type: "asset", fileName: `${file.fileName}.br`, source: source.br });
            this.emitFile({ type: "asset", fileName: `${file.fileName}.gz`, source: source.gz });
          }),
        );
      },
    },
  };
}
