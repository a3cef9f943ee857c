# assay mcp: passes messages between an assistant and a service, which can be on another machine. It needs neither root nor
# this machine's set-up: a Node that runs TypeScript directly is enough.

[ $# -eq 0 ] || misuse "'assay mcp' takes no arguments"
for node in "$checkout"/node_modules/node-linux-*/bin/node "$data"/modules/*/node_modules/node-linux-*/bin/node "$(command -v node)"; do
  if [ -x "$node" ] && [ "$("$node" -p 'process.features.typescript === "strip"' 2>/dev/null)" = true ]; then
    exec "$node" "$checkout/client/typescript/src/mcp.ts"
  fi
done
fail "'assay mcp' needs Node 22.18 or newer, or a set-up of this machine"
