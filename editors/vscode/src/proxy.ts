/** VS Code's own settings for the proxy, in the words of the environment. */

import * as vscode from "vscode";

/** The settings of VS Code that are looked at. */
export const PROXY_SETTINGS = ["http.proxy", "http.noProxy", "http.proxySupport"];

export function proxyVariables(): Record<string, string> {
  const settings = vscode.workspace.getConfiguration("http");
  const proxy = settings.get<string>("proxy")?.trim();
  const excepted = settings.get<string[]>("noProxy") ?? [];
  if (!proxy || settings.get<string>("proxySupport") === "off") {
    return {};
  }
  const said: Record<string, string> = {};
  // Some systems tell these two apart, and some programs look at one of them only.
  for (const name of ["HTTP_PROXY", "HTTPS_PROXY"]) {
    said[name] = said[name.toLowerCase()] = proxy;
  }
  if (excepted.length) {
    said["NO_PROXY"] = said["no_proxy"] = excepted.join(",");
  }
  return said;
}
