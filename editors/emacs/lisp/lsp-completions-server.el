;;; lsp-completions-server.el --- The server beside all others  -*- lexical-binding: t; -*-

;;; Commentary:

;; One process of the server for all buffers, spoken to by `jsonrpc' as Eglot does it, and no part
;; of Eglot: that has one server for a buffer, which stays the language's own.
;; Buffers where lsp-mode runs the server are not its own; see `lsp-completions-lsp-mode.el'.

;;; Code:

(require 'cl-lib)
(require 'jsonrpc)
(require 'project)
(require 'seq)
(require 'url-util)

(defcustom lsp-completions-command '("lsp-completions")
  "The program and its arguments."
  :type '(repeat string)
  :group 'lsp-completions)

(defcustom lsp-completions-settings nil
  "Settings of the server.
Such as (:multiline \"never\" :languages (:markdown :json-false))."
  :type 'plist
  :group 'lsp-completions)

(defvar lsp-completions-status-functions nil
  "Called with a server and what it told of itself.")

(defvar lsp-completions-ready-functions nil
  "Called in each buffer that the server has come to know.")

(defun lsp-completions-initialization-options ()
  "What the server is told about this editor, and the settings."
  (append lsp-completions-settings
          `(:editorInfo (:name "Emacs" :version ,emacs-version)
            ;; Whoever names a plugin is told how things are.
            :editorPluginInfo (:name "lsp-completions" :version "1"))))

;;;; What all servers can do, that of lsp-mode as well

(cl-defgeneric lsp-completions-request (server method params answered)
  "Send SERVER a request; ANSWERED is called with the result, nil where it failed.")

(cl-defgeneric lsp-completions-notify (server method params)
  "Send SERVER a notification.")

(cl-defgeneric lsp-completions-document (server)
  "How SERVER knows the current buffer as it is now.")

(cl-defgeneric lsp-completions-language (server)
  "What SERVER was told about the language of the current buffer.")

;;;; The process

(defclass lsp-completions-connection (jsonrpc-process-connection)
  ((ready :initform nil :documentation "Whether it may be told of documents.")
   (folders :initform nil :documentation "The folders of the workspace.")
   (ended :initform nil :documentation "Whether it is to end.")))

(defvar lsp-completions--connection nil "The one there is.")
(defvar lsp-completions--deaths nil "When it died lately.")

(cl-defmethod lsp-completions-request ((server lsp-completions-connection) method params answered)
  (jsonrpc-async-request
   server (intern method) params
   :timeout 60
   :success-fn answered
   :error-fn (lambda (_) (funcall answered nil))
   :timeout-fn (lambda () (funcall answered nil))))

(cl-defmethod lsp-completions-notify ((server lsp-completions-connection) method params)
  (jsonrpc-notify server (intern method) params))

(cl-defmethod lsp-completions-document ((_ lsp-completions-connection))
  (lsp-completions--flush)
  (list :uri lsp-completions--uri :version lsp-completions--version))

(cl-defmethod lsp-completions-language ((_ lsp-completions-connection))
  (lsp-completions--language-id))

(defun lsp-completions--start ()
  "Start the process, if it can be found."
  (unless (executable-find (car lsp-completions-command))
    (user-error "The command %s is not on the `exec-path' of Emacs"
                (car lsp-completions-command)))
  (let* ((name "lsp-completions")
         (make (lambda (&rest more)
                 (apply
                  #'make-instance 'lsp-completions-connection
                  :name name
                  :process (lambda ()
                             (let ((default-directory (expand-file-name "~/")))
                               (make-process
                                :name name :command lsp-completions-command
                                :connection-type 'pipe :coding 'utf-8-emacs-unix :noquery t
                                :stderr (get-buffer-create (format "*%s stderr*" name)))))
                  :notification-dispatcher #'lsp-completions--on-notification
                  :on-shutdown #'lsp-completions--on-shutdown
                  more)))
         ;; No log of what is said: it would hold all that is edited. Its name changed in Emacs 30.
         (connection (condition-case nil
                         (funcall make :events-buffer-config '(:size 0 :format short))
                       (invalid-slot-name (funcall make :events-buffer-scrollback-size 0)))))
    (setq lsp-completions--connection connection)
    (oset connection folders (lsp-completions--roots))
    (jsonrpc-async-request
     connection :initialize
     `(:processId ,(emacs-pid)
       :clientInfo (:name "Emacs" :version ,emacs-version)
       :rootUri ,(plist-get (car (oref connection folders)) :uri)
       :workspaceFolders ,(vconcat (oref connection folders))
       :initializationOptions ,(lsp-completions-initialization-options)
       :capabilities
       (:general (:positionEncodings ["utf-32"])
        :workspace (:workspaceFolders t :executeCommand (:dynamicRegistration :json-false))
        :textDocument (:synchronization (:didSave :json-false)
                       :inlineCompletion (:dynamicRegistration :json-false))))
     :timeout 60
     :success-fn (lambda (_)
                   (jsonrpc-notify connection :initialized (make-hash-table))
                   (oset connection ready t)
                   (lsp-completions--each-buffer #'lsp-completions--did-open)))))

(defun lsp-completions--each-buffer (function)
  "Call FUNCTION in each buffer of this server."
  (dolist (buffer (buffer-list))
    (when (buffer-local-value 'lsp-completions--here buffer)
      (with-current-buffer buffer
        (funcall function)))))

(defun lsp-completions--on-notification (connection method params)
  "CONNECTION notifies of METHOD with PARAMS."
  (pcase method
    ('window/showMessage (lsp-completions--say (plist-get params :message)))
    ('didChangeStatus
     (run-hook-with-args 'lsp-completions-status-functions connection params))))

(defun lsp-completions--say (text)
  "Show TEXT once nobody types: the next key would take it away unread."
  (run-with-idle-timer 0.5 nil #'message "%s" text))

(defconst lsp-completions--most-deaths 4
  "How often within three minutes it comes back by itself.")

(defun lsp-completions--on-shutdown (connection)
  "The process of CONNECTION has ended; bring it back unless that was wanted."
  (when (eq connection lsp-completions--connection)
    (setq lsp-completions--connection nil)
    (lsp-completions--each-buffer (lambda () (setq lsp-completions--version nil)))
    (when (and (not (oref connection ended)) (lsp-completions-server-may-restart))
      (run-with-timer 0.2 nil #'lsp-completions--start-again))))

(defun lsp-completions-server-may-restart ()
  "Whether the server, which has just died, may come back by itself."
  (let ((now (float-time)))
    (setq lsp-completions--deaths
          (cons now (seq-filter (lambda (died) (< (- now died) 180)) lsp-completions--deaths)))
    (or (<= (length lsp-completions--deaths) lsp-completions--most-deaths)
        (progn
          (lsp-completions--say
           (concat "lsp-completions: the server ends again and again; what it wrote is in its "
                   "buffer for stderr. M-x lsp-completions-restart starts it."))
          nil))))

(defun lsp-completions--start-again ()
  "Start the server if there is a buffer for it."
  (when (and (not lsp-completions--connection)
             (seq-some (lambda (buffer) (buffer-local-value 'lsp-completions--here buffer))
                       (buffer-list)))
    (lsp-completions--start)))

(defun lsp-completions-server-end ()
  "End the process."
  (when-let* ((connection lsp-completions--connection))
    (oset connection ended t)
    (setq lsp-completions--connection nil)
    (lsp-completions--each-buffer (lambda () (setq lsp-completions--version nil)))
    (ignore-errors (jsonrpc-request connection :shutdown nil :timeout 3))
    (ignore-errors (jsonrpc-notify connection :exit nil))
    (ignore-errors (jsonrpc-shutdown connection))))

(defun lsp-completions-server-restart ()
  "Start the process anew."
  (setq lsp-completions--deaths nil)
  (lsp-completions-server-end)
  (lsp-completions--start-again))

;;;; Documents

(defvar-local lsp-completions--here nil "Whether this buffer is one for this server.")
(defvar-local lsp-completions--uri nil)
(defvar-local lsp-completions--version nil "Nil while the server does not know the document.")
(defvar-local lsp-completions--changes nil
  "What the server has not been told, newest first; t for the whole text.")
(defvar-local lsp-completions--before nil "What is about to change: where, and its range.")

(defconst lsp-completions--most-changes 200
  "With more than these the whole text is sent instead.")

(defun lsp-completions-server-here ()
  "The server, if it knows this buffer."
  (and lsp-completions--here lsp-completions--version lsp-completions--connection))

(defun lsp-completions-server-join ()
  "Have the server know this buffer, starting it if need be."
  (unless lsp-completions--here
    (setq lsp-completions--here t)
    (add-hook 'before-change-functions #'lsp-completions--before-change nil t)
    (add-hook 'after-change-functions #'lsp-completions--after-change nil t)
    (add-hook 'kill-buffer-hook #'lsp-completions-server-leave nil t)
    (add-hook 'after-set-visited-file-name-hook #'lsp-completions--renamed nil t)
    (add-hook 'change-major-mode-hook #'lsp-completions-server-leave nil t))
  (cond ((not lsp-completions--connection) (lsp-completions--start))
        ((oref lsp-completions--connection ready) (lsp-completions--did-open))))

(defun lsp-completions-server-leave ()
  "The server is to forget this buffer."
  (when lsp-completions--here
    (lsp-completions--did-close)
    (setq lsp-completions--here nil)
    (remove-hook 'before-change-functions #'lsp-completions--before-change t)
    (remove-hook 'after-change-functions #'lsp-completions--after-change t)
    (remove-hook 'kill-buffer-hook #'lsp-completions-server-leave t)
    (remove-hook 'after-set-visited-file-name-hook #'lsp-completions--renamed t)
    (remove-hook 'change-major-mode-hook #'lsp-completions-server-leave t)))

(defun lsp-completions--renamed ()
  "The buffer has another file now."
  (lsp-completions--did-close)
  (when (and buffer-file-name lsp-completions--connection)
    (lsp-completions--did-open)))

(defun lsp-completions--did-open ()
  "Tell the server of this buffer."
  (when (and (not lsp-completions--version) buffer-file-name)
    (setq lsp-completions--uri (lsp-completions--uri-of buffer-file-name)
          lsp-completions--version 0
          lsp-completions--changes nil)
    (lsp-completions--add-folder)
    (jsonrpc-notify lsp-completions--connection :textDocument/didOpen
                    (list :textDocument
                          (list :uri lsp-completions--uri
                                :languageId (lsp-completions--language-id)
                                :version 0
                                :text (lsp-completions--whole-text))))
    (run-hooks 'lsp-completions-ready-functions)))

(defun lsp-completions--did-close ()
  "Tell the server to forget this buffer."
  (when (and lsp-completions--version lsp-completions--connection)
    (jsonrpc-notify lsp-completions--connection :textDocument/didClose
                    `(:textDocument (:uri ,lsp-completions--uri))))
  (setq lsp-completions--version nil))

(defun lsp-completions--whole-text ()
  "All of the buffer."
  (save-restriction
    (widen)
    (buffer-substring-no-properties (point-min) (point-max))))

(defun lsp-completions-position (&optional place)
  "PLACE, or that of the cursor, as the server counts it."
  (save-restriction
    (widen)
    (save-excursion
      (goto-char (or place (point)))
      (list :line (1- (line-number-at-pos nil t))
            :character (- (point) (line-beginning-position))))))

(defun lsp-completions--before-change (start end)
  "The text from START to END is about to change."
  (when (and lsp-completions--version (not (eq lsp-completions--changes t)))
    (setq lsp-completions--before
          (list start end
                (list :start (lsp-completions-position start)
                      :end (lsp-completions-position end))))))

(defun lsp-completions--after-change (start end replaced)
  "The text from START to END stands where REPLACED characters were."
  (when (and lsp-completions--version (not (eq lsp-completions--changes t)))
    (pcase lsp-completions--before
      ((and `(,(pred (= start)) ,was ,range)
            (guard (= (- was start) replaced))
            (guard (< (length lsp-completions--changes) lsp-completions--most-changes)))
       (push (list :range range
                   :text (save-restriction
                           (widen)
                           (buffer-substring-no-properties start end)))
             lsp-completions--changes))
      ;; What was announced is not what came.
      (_ (setq lsp-completions--changes t)))
    (setq lsp-completions--before nil)))

(defun lsp-completions--flush ()
  "Tell the server what has changed."
  (when (and lsp-completions--version lsp-completions--connection lsp-completions--changes)
    (let ((changes (if (eq lsp-completions--changes t)
                       (vector (list :text (lsp-completions--whole-text)))
                     (vconcat (reverse lsp-completions--changes)))))
      (setq lsp-completions--changes nil)
      (cl-incf lsp-completions--version)
      (jsonrpc-notify lsp-completions--connection :textDocument/didChange
                      (list :textDocument (list :uri lsp-completions--uri
                                                :version lsp-completions--version)
                            :contentChanges changes)))))

(defun lsp-completions-server-up-to-date ()
  "Tell the server what has changed in this buffer, if it is one of its own."
  (when lsp-completions--here
    (lsp-completions--flush)))

(defun lsp-completions--uri-of (file)
  "The URI of FILE."
  (concat (if (eq system-type 'windows-nt) "file:///" "file://")
          (url-hexify-string (directory-file-name (expand-file-name file))
                             (let ((allowed (copy-sequence url-unreserved-chars)))
                               (append '(?/ ?:) allowed)))))

(defconst lsp-completions--languages
  '(("js" . "javascript") ("js2" . "javascript") ("js3" . "javascript")
    ("rjsx" . "javascriptreact") ("js-jsx" . "javascriptreact") ("tsx" . "typescriptreact")
    ("js-json" . "json") ("cperl" . "perl") ("enh-ruby" . "ruby") ("tuareg" . "ocaml")
    ("conf-toml" . "toml") ("conf-unix" . "ini") ("mhtml" . "html") ("nxml" . "xml")
    ("lisp-interaction" . "emacs-lisp"))
  "Names of major modes that say little about the language.")

(defun lsp-completions--language-id ()
  "What the server is told about the language of this buffer."
  (let ((name (replace-regexp-in-string "\\(?:-ts\\)?-mode\\'" "" (symbol-name major-mode))))
    (downcase (or (cdr (assoc name lsp-completions--languages)) name))))

;;;; Folders

(defun lsp-completions--root ()
  "The folder of the project of this buffer, in LSP's words; nil without one."
  (when-let* ((project (project-current nil))
              (root (project-root project)))
    (list :uri (lsp-completions--uri-of root)
          :name (file-name-nondirectory (directory-file-name root)))))

(defun lsp-completions--roots ()
  "The folders of all buffers of the server."
  (let (roots)
    (lsp-completions--each-buffer
     (lambda () (when-let* ((root (lsp-completions--root))) (cl-pushnew root roots :test #'equal))))
    (nreverse roots)))

(defun lsp-completions--add-folder ()
  "Have the folder of this buffer in the workspace."
  (when-let* ((root (lsp-completions--root)))
    (unless (member root (oref lsp-completions--connection folders))
      (push root (oref lsp-completions--connection folders))
      (jsonrpc-notify lsp-completions--connection :workspace/didChangeWorkspaceFolders
                      `(:event (:added [,root] :removed []))))))

(provide 'lsp-completions-server)
;;; lsp-completions-server.el ends here
