// Starts the second language server of the tests, as any extension starts one.
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = () => {
  const [command, ...args] = JSON.parse(process.env.SECOND_SERVER);
  client = new LanguageClient("second", { command, args }, { documentSelector: [{ scheme: "file" }] });
  return client.start();
};

exports.deactivate = () => client?.stop();
