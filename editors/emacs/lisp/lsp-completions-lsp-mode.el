;;; lsp-completions-lsp-mode.el --- The server as an add-on of lsp-mode  -*- lexical-binding: t; -*-

;;; Commentary:

;; Loaded once lsp-mode is: there the server runs as an add-on beside the language's own one, and
;; its suggestions may also be in the completion menu.

;;; Code:

(require 'lsp-mode)
(require 'lsp-completions-server)
(require 'seq)

(defvar lsp-completions-mode)
(defvar global-lsp-completions-mode)
(declare-function lsp-completions--joined "lsp-completions")
(defvar lsp-inline-completion-enable)
(declare-function lsp-inline-completion-mode "lsp-inline-completion")

(defun lsp-completions-lsp-mode--wanted-p ()
  "Whether this is a buffer for suggestions, or will be one soon.
The mode is switched on everywhere only after `lsp' in a hook of the major mode."
  (or lsp-completions-mode global-lsp-completions-mode))

(lsp-register-client
 (make-lsp-client
  :new-connection (lsp-stdio-connection (lambda () lsp-completions-command))
  :activation-fn (lambda (&rest _) (lsp-completions-lsp-mode--wanted-p))
  :server-id 'lsp-completions
  :priority -2
  :add-on? t
  :initialization-options #'lsp-completions-initialization-options
  :notification-handlers
  (lsp-ht ("didChangeStatus"
           (lambda (workspace status)
             (run-hook-with-args 'lsp-completions-status-functions workspace status))))))

(defun lsp-completions-lsp-mode-here ()
  "The server in this buffer, if lsp-mode runs it."
  (seq-find (lambda (workspace) (eq (lsp--workspace-server-id workspace) 'lsp-completions))
            lsp--buffer-workspaces))

(defun lsp-completions-lsp-mode-ready ()
  "The server in this buffer, if lsp-mode runs it and it has begun."
  (when-let* ((workspace (lsp-completions-lsp-mode-here)))
    (and (eq (lsp--workspace-status workspace) 'initialized) workspace)))

(cl-defmethod lsp-completions-request ((server lsp--workspace) method params answered)
  (with-lsp-workspace server
    (lsp-request-async method params answered
                       :mode 'detached
                       :error-handler (lambda (&rest _) (funcall answered nil)))))

(cl-defmethod lsp-completions-notify ((server lsp--workspace) method params)
  (with-lsp-workspace server
    (lsp-notify method params)))

(cl-defmethod lsp-completions-document ((_ lsp--workspace))
  (lsp--versioned-text-document-identifier))

(cl-defmethod lsp-completions-language ((_ lsp--workspace))
  (lsp-buffer-language))

(defun lsp-completions-lsp-mode--opened ()
  "The buffer has come under lsp-mode."
  (when (lsp-completions-lsp-mode--wanted-p)
    ;; Its own ghost text would stand in the same place.
    (setq-local lsp-inline-completion-enable nil)
    (when (bound-and-true-p lsp-inline-completion-mode)
      (lsp-inline-completion-mode -1))
    (lsp-completions--joined)))

;; After that of its own ghost text.
(add-hook 'lsp-configure-hook #'lsp-completions-lsp-mode--opened 90)

(defun lsp-completions-lsp-mode--ended (workspace)
  "The server of WORKSPACE has ended; bring ours back unless that was wanted.
Asking whether to, as lsp-mode does, would take the keys that somebody types."
  (when (and (eq (lsp--workspace-server-id workspace) 'lsp-completions)
             (not (lsp--workspace-shutdown-action workspace))
             (lsp-completions-server-may-restart))
    (setf (lsp--workspace-shutdown-action workspace) 'restart)))

(add-hook 'lsp-after-uninitialized-functions #'lsp-completions-lsp-mode--ended)

(provide 'lsp-completions-lsp-mode)
;;; lsp-completions-lsp-mode.el ends here
