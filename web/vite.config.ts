import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The gateway answers the pages with the policy `default-src 'self'`: nothing inline, nothing as a data: address.
export default defineConfig({
  base: "/ui/",
  plugins: [react({ jsxImportSource: "@/jsx" })],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    outDir: "../src/pegboard/surfaces/web/pages",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1500,
  },
  server: { proxy: { "^/(api/|ui/frame$)": process.env["PEGBOARD"] ?? "http://127.0.0.1:8460" } },
});
