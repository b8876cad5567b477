// Starts the language server `lsp-completions` and passes ghost text on to VS Code.
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = async () => {
  client = new LanguageClient(
    "lspCompletions", // the section of the settings, too
    "LSP Completions",
    { command: "lsp-completions" }, // over stdio, from PATH
    {
      documentSelector: [{ scheme: "file" }, { scheme: "untitled" }, { scheme: "vscode-remote" }],
      synchronize: { configurationSection: "lspCompletions" },
    },
  );
  await client.start();
};

exports.deactivate = () => client?.stop();
