;;; lsp-completions.el --- LLM ghost text beside any language server  -*- lexical-binding: t; -*-

;; Version: 1
;; Package-Requires: ((emacs "28.1"))
;; Keywords: convenience, completion

;;; Commentary:

;; Suggestions of a language model in dim text behind the cursor, whatever else serves the buffer:
;; Eglot, lsp-mode or nothing.  Under lsp-mode the server is one of its add-ons, elsewhere a process
;; of its own for all buffers.
;;
;;   (global-lsp-completions-mode)
;;
;; This file decides when one is asked for, and has what people call; the README beside it tells
;; of keys and settings.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'lsp-completions-suggestion)
(require 'lsp-completions-server)

(defgroup lsp-completions nil
  "LLM ghost text beside any language server."
  :group 'convenience)

(defcustom lsp-completions-delay 0.15
  "Seconds without a key before a suggestion is asked for; nil to ask by hand only."
  :type '(choice number (const nil)))

(defcustom lsp-completions-inhibit-functions '(lsp-completions-menu-open-p)
  "While one of these returns non-nil nothing is asked for or shown."
  :type 'hook)

(defvar lsp-completions-shown-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "TAB") #'lsp-completions-accept)
    (define-key map (kbd "<tab>") #'lsp-completions-accept)
    (define-key map (kbd "M-<right>") #'lsp-completions-accept-word)
    (define-key map (kbd "C-M-<right>") #'lsp-completions-accept-line)
    (define-key map (kbd "M-n") #'lsp-completions-next)
    (define-key map (kbd "M-p") #'lsp-completions-previous)
    (define-key map [remap keyboard-quit] #'lsp-completions-dismiss)
    map)
  "Keys while a suggestion is shown; otherwise they do what they did before.")

(defvar lsp-completions-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c \\") #'lsp-completions-suggest)
    map)
  "Keys of `lsp-completions-mode'.")

;;;; The mode

(defvar-local lsp-completions--found nil "What was suggested here.")
(defvar-local lsp-completions--index 0 "Which of it is shown.")
(defvar-local lsp-completions--overlay nil "What is drawn of it.")
(defvar-local lsp-completions--shown nil "Whether anything is.")
(defvar-local lsp-completions--asked nil "The question that has no answer yet.")
(defvar-local lsp-completions--missed nil "Whether nobody was there to be asked.")
(defvar-local lsp-completions--put-off nil "Whether a menu was in the way of asking.")
(defvar-local lsp-completions--tick nil "The state of the text when it was last looked at.")
(defvar-local lsp-completions--timer nil "What is planned.")

(defvar lsp-completions--problem nil "Why no server could be started.")
(defvar lsp-completions--languages-off nil "Languages that were switched off.")

;;;###autoload
(define-minor-mode lsp-completions-mode
  "Show what a language model suggests, in dim text behind the cursor."
  :lighter (:eval (lsp-completions--lighter))
  :group 'lsp-completions
  (if lsp-completions-mode
      (progn
        (setq lsp-completions--tick (buffer-chars-modified-tick))
        (add-hook 'post-command-hook #'lsp-completions--look nil t)
        (add-hook 'completion-in-region-mode-hook #'lsp-completions--draw nil t)
        (add-hook 'lsp-completions-ready-functions #'lsp-completions--joined nil t)
        ;; Not now: whoever starts lsp-mode may do so after this.
        (lsp-completions--later 0.3 #'lsp-completions--join))
    (lsp-completions--stop)
    (lsp-completions-server-leave)
    (remove-hook 'post-command-hook #'lsp-completions--look t)
    (remove-hook 'completion-in-region-mode-hook #'lsp-completions--draw t)
    (remove-hook 'lsp-completions-ready-functions #'lsp-completions--joined t)))

;;;###autoload
(define-globalized-minor-mode global-lsp-completions-mode
  lsp-completions-mode lsp-completions--turn-on
  :group 'lsp-completions)

(defun lsp-completions--turn-on ()
  "Switch `lsp-completions-mode' on in a buffer with a file on this machine."
  (when (and buffer-file-name
             (not (file-remote-p buffer-file-name))
             (not (buffer-base-buffer))
             (not (derived-mode-p 'special-mode)))
    (lsp-completions-mode)))

(declare-function lsp-completions-lsp-mode-here "lsp-completions-lsp-mode")
(declare-function lsp-completions-lsp-mode-ready "lsp-completions-lsp-mode")

(with-eval-after-load 'lsp-mode
  (require 'lsp-completions-lsp-mode))

(defun lsp-completions--in-lsp-mode ()
  "Whether lsp-mode runs the server in this buffer."
  (and (featurep 'lsp-completions-lsp-mode) (lsp-completions-lsp-mode-here)))

(defun lsp-completions--server ()
  "The server that knows this buffer; nil while none does."
  (if (lsp-completions--in-lsp-mode)
      (lsp-completions-lsp-mode-ready)
    (lsp-completions-server-here)))

(defun lsp-completions--join ()
  "Have a server know this buffer."
  (when (and lsp-completions-mode buffer-file-name
             (not (lsp-completions--in-lsp-mode))
             (not (lsp-completions-server-here)))
    (condition-case problem
        (lsp-completions-server-join)
      (error
       ;; Said once, not at every key.
       (unless (equal problem lsp-completions--problem)
         (setq lsp-completions--problem problem)
         (message "lsp-completions: %s" (error-message-string problem))
         (force-mode-line-update t))))))

(defun lsp-completions--joined ()
  "A server has come to know this buffer."
  (setq lsp-completions--problem nil)
  (when (lsp-completions--in-lsp-mode)
    (lsp-completions-server-leave))
  (when (and lsp-completions--missed (eq (current-buffer) (window-buffer)))
    (lsp-completions--ask nil))
  (force-mode-line-update))

(defun lsp-completions--later (seconds function &rest arguments)
  "Call FUNCTION with ARGUMENTS in this buffer when nobody has typed for SECONDS."
  (let ((buffer (current-buffer)))
    (run-with-idle-timer seconds nil
                         (lambda ()
                           (when (buffer-live-p buffer)
                             (with-current-buffer buffer
                               (apply function arguments)))))))

;;;; When it is asked

(defun lsp-completions-menu-open-p ()
  "Whether a completion menu is open."
  (or completion-in-region-mode
      (bound-and-true-p company-candidates)))

(defun lsp-completions--wanted-p ()
  "Whether there is a place for a suggestion."
  (not (or buffer-read-only
           (region-active-p)
           executing-kbd-macro
           (run-hook-with-args-until-success 'lsp-completions-inhibit-functions))))

(defun lsp-completions--look ()
  "See whether what is shown fits after a command, and whether to ask for more."
  (let* ((tick (buffer-chars-modified-tick))
         (changed (not (eql tick lsp-completions--tick)))
         (again (and lsp-completions--put-off (lsp-completions--wanted-p))))
    (when (or changed again lsp-completions--found)
      (setq lsp-completions--tick tick)
      (unless (lsp-completions--draw)
        (unless (lsp-completions--current)
          (setq lsp-completions--found nil))
        (when (or changed again)
          (lsp-completions--ask-soon)))
      (when changed
        (lsp-completions--up-to-date-soon)))))

(defun lsp-completions--up-to-date-soon ()
  "Tell the server of changes for which nobody asks."
  (unless (timerp lsp-completions--timer)
    (setq lsp-completions--timer
          (lsp-completions--later 0.5 #'lsp-completions--on-timer #'lsp-completions-server-up-to-date))))

(defun lsp-completions--ask-soon ()
  "Ask for a suggestion when nobody has typed for a moment."
  (lsp-completions--cancel-timer)
  (when (and lsp-completions-delay
             (not (memq this-command '(undo undo-only undo-redo))))
    (setq lsp-completions--timer
          (lsp-completions--later lsp-completions-delay
                                  #'lsp-completions--on-timer #'lsp-completions--ask nil))))

(defun lsp-completions--on-timer (function &rest arguments)
  "The time has come to call FUNCTION with ARGUMENTS."
  (setq lsp-completions--timer nil)
  (apply function arguments))

(defun lsp-completions--cancel-timer ()
  "Do not do what was planned."
  (when (timerp lsp-completions--timer)
    (cancel-timer lsp-completions--timer))
  (setq lsp-completions--timer nil))

(defun lsp-completions--ask (by-hand &optional chosen)
  "Ask for suggestions at the cursor; show the first, or that with index CHOSEN.
BY-HAND tells whether the user wants one now."
  (lsp-completions--cancel-timer)
  (lsp-completions-server-up-to-date)
  (let ((server (lsp-completions--server)))
    (setq lsp-completions--missed (not server)
          lsp-completions--put-off (not (lsp-completions--wanted-p)))
    (cond
     ((not server)
      (lsp-completions--join))
     ((and (not lsp-completions--put-off) (eq (current-buffer) (window-buffer)))
      (let ((question (list server))
            (buffer (current-buffer))
            (around (lsp-completions--around))
            (position (lsp-completions-position)))
        (setq lsp-completions--asked question)
        (force-mode-line-update)
        (lsp-completions-request
         server "textDocument/inlineCompletion"
         (list :textDocument (lsp-completions-document server)
               :position position
               :context (list :triggerKind (if by-hand 1 2)))
         (lambda (answer)
           (when (buffer-live-p buffer)
             (with-current-buffer buffer
               (when (eq question lsp-completions--asked)
                 (setq lsp-completions--asked nil)
                 (lsp-completions--answered server answer around position by-hand chosen))
               (force-mode-line-update))))))))))

(defun lsp-completions--answered (server answer around position by-hand chosen)
  "SERVER gave this ANSWER to a question asked AROUND the cursor at POSITION.
BY-HAND and CHOSEN are those of the question."
  (let ((same-line (eql (plist-get position :line)
                        (plist-get (lsp-completions-position) :line)))
        (items (and answer (or (listp answer) (hash-table-p answer))
                    (lsp-completions--get answer "items"))))
    (setq lsp-completions--found
          (and same-line
               (seq-filter
                #'identity
                (mapcar (lambda (item) (lsp-completions-suggestion-new server item around)) items)))
          lsp-completions--index
          (if (and chosen (< chosen (length lsp-completions--found))) chosen 0))
    (when (lsp-completions--draw)
      ;; It fits what was typed meanwhile: nobody needs to be asked again.
      (lsp-completions--cancel-timer)
      (lsp-completions-server-up-to-date))
    (when (and by-hand (not lsp-completions--found))
      (message "No suggestion"))))

;;;; What is shown

(defun lsp-completions--current ()
  "The suggestion that is shown, or waits for a menu to close; nil if none fits."
  (let ((current (nth lsp-completions--index lsp-completions--found)))
    (and current (lsp-completions-suggestion-rest current) current)))

(defun lsp-completions--clear ()
  "Take the ghost text away."
  (when lsp-completions--overlay
    (delete-overlay lsp-completions--overlay))
  (setq lsp-completions--overlay nil
        lsp-completions--shown nil))

(defun lsp-completions--draw ()
  "Draw the suggestion as it fits now; returns whether there is one."
  (lsp-completions--clear)
  (let ((current (lsp-completions--current)))
    (when (and current (eq (current-buffer) (window-buffer)) (lsp-completions--wanted-p))
      (setq lsp-completions--overlay
            (lsp-completions-suggestion-draw
             current
             (and (> lsp-completions--index 0)
                  (format " (%d/%d)" (1+ lsp-completions--index) (length lsp-completions--found))))
            lsp-completions--shown t)
      (unless (lsp-completions-suggestion-shown current)
        (setf (lsp-completions-suggestion-shown current) t)
        (lsp-completions-notify (lsp-completions-suggestion-server current)
                                "textDocument/didShowCompletion"
                                (list :item (lsp-completions-suggestion-item current)))))
    lsp-completions--shown))

(defun lsp-completions--stop ()
  "Show nothing, and wait for nothing."
  (lsp-completions--cancel-timer)
  (lsp-completions--clear)
  (setq lsp-completions--asked nil
        lsp-completions--missed nil
        lsp-completions--put-off nil
        lsp-completions--found nil))

;; The keys of what is shown come before those of other minor modes.
(add-to-list 'emulation-mode-map-alists
             `((lsp-completions--shown . ,lsp-completions-shown-map)))

;;;; What people call

(defun lsp-completions--take (part)
  "Put PART of the suggestion into the text."
  (let* ((current (or (lsp-completions--current) (user-error "There is no suggestion")))
         (server (lsp-completions-suggestion-server current))
         (item (lsp-completions-suggestion-item current))
         (taken (lsp-completions-suggestion-take current part)))
    (lsp-completions--clear)
    (setq lsp-completions--tick (buffer-chars-modified-tick))
    (if (not (eq taken 'all))
        (lsp-completions-notify server "textDocument/didPartiallyAcceptCompletion"
                                (list :item item :acceptedLength taken))
      (lsp-completions--command server (lsp-completions--get item "command")))
    (setq lsp-completions--found (and (not (equal "" (lsp-completions-suggestion-text current)))
                                      (list current))
          lsp-completions--index 0)
    (unless (lsp-completions--draw)
      ;; The server has been told, and may have the next one ready.
      (lsp-completions--ask nil))))

(defun lsp-completions--command (server command &optional answered)
  "Have SERVER run COMMAND; ANSWERED is called with the result."
  (when command
    (lsp-completions-server-up-to-date)
    (lsp-completions-request server "workspace/executeCommand"
                             (list :command (lsp-completions--get command "command")
                                   :arguments (lsp-completions--get command "arguments"))
                             (or answered #'ignore))))

(defun lsp-completions-accept ()
  "Put the suggestion into the text."
  (interactive)
  (lsp-completions--take 'all))

(defun lsp-completions-accept-word ()
  "Put the next word of the suggestion into the text."
  (interactive)
  (lsp-completions--take 'word))

(defun lsp-completions-accept-line ()
  "Put the next line of the suggestion into the text."
  (interactive)
  (lsp-completions--take 'line))

(defun lsp-completions-dismiss ()
  "Show no suggestion until more is typed."
  (interactive)
  (lsp-completions--stop))

(defun lsp-completions-suggest ()
  "Ask for a suggestion."
  (interactive)
  (lsp-completions--ask t))

(defun lsp-completions-next (&optional backwards)
  "Show the next suggestion, or the one before it if BACKWARDS.
Where only one is known, ask for more."
  (interactive)
  (let ((count (length lsp-completions--found)))
    (if (< count 2)
        (lsp-completions--ask t 1)
      (setq lsp-completions--index (mod (+ lsp-completions--index (if backwards -1 1)) count))
      (lsp-completions--draw))))

(defun lsp-completions-previous ()
  "Show the suggestion before this one."
  (interactive)
  (lsp-completions-next t))

;;;; Switches

(defun lsp-completions--toggle (scope words)
  "Switch suggestions on or off in SCOPE, which is said in WORDS."
  (let ((server (or (lsp-completions--server)
                    (user-error "The server does not know this buffer; `lsp-completions-mode' \
starts it")))
        (suffix (or (plist-get lsp-completions-settings :commandSuffix) ""))
        (buffer (current-buffer)))
    (lsp-completions--stop)
    (lsp-completions--command
     server
     (list :command (concat "lspCompletions.toggle" suffix) :arguments (vector scope))
     (lambda (state)
       (when (and state (buffer-live-p buffer))
         (let ((on (not (memq (lsp-completions--get state "enabled") '(nil :json-false))))
               (language (plist-get scope :language)))
           (setq lsp-completions--languages-off (delete language lsp-completions--languages-off))
           (when (and language (not on))
             (push language lsp-completions--languages-off))
           (message "Suggestions %s%s" (if on "on" "off") words)
           (force-mode-line-update t)))))))

(defun lsp-completions-toggle ()
  "Switch suggestions off everywhere, or on again, until Emacs ends."
  (interactive)
  (lsp-completions--toggle (make-hash-table) ""))

(defun lsp-completions-toggle-language ()
  "Switch suggestions off in all files of this kind, or on again, until Emacs ends."
  (interactive)
  (let ((language (lsp-completions-language (lsp-completions--server))))
    (lsp-completions--toggle (list :language language) (concat " for " language))))

(defun lsp-completions-toggle-workspace ()
  "Switch suggestions off in this workspace, or on again, until Emacs ends."
  (interactive)
  (lsp-completions--toggle (list :workspace t) " in this workspace"))

;;;; How things are

(defvar lsp-completions--told (make-hash-table :test #'eq :weakness 'key)
  "What each server told last of itself.")

(defun lsp-completions--on-status (server status)
  "SERVER tells its STATUS."
  (puthash server status lsp-completions--told)
  (force-mode-line-update t))

(add-hook 'lsp-completions-status-functions #'lsp-completions--on-status)

(defun lsp-completions--state ()
  "How things are in this buffer: a symbol, and the reason if there is one."
  (let* ((server (lsp-completions--server))
         (told (and server (gethash server lsp-completions--told)))
         (kind (lsp-completions--get told "kind"))
         (reason (lsp-completions--get told "message")))
    (cond
     ((not lsp-completions-mode) '(off "`lsp-completions-mode' is off in this buffer"))
     (lsp-completions--problem
      (list 'error (error-message-string lsp-completions--problem)))
     ((not server) '(none "the server is not there, or not yet"))
     ((equal kind "Inactive") (list 'off reason))
     ((and lsp-completions--languages-off
           (member (lsp-completions-language server) lsp-completions--languages-off))
      (list 'off (format "they are switched off for %s" (lsp-completions-language server))))
     ((equal kind "Error") (list 'error reason))
     ((equal kind "Warning") (list 'warning reason))
     (lsp-completions--asked '(busy))
     (t '(on)))))

(defun lsp-completions--lighter ()
  "What the mode line says of this buffer."
  (pcase-let* ((`(,state ,reason) (lsp-completions--state))
               (sign (pcase state
                       ('busy "…") ('off "-") ('none "-") ('warning "?") ('error "!") (_ ""))))
    (propertize (concat " Ghost" sign) 'help-echo reason)))

(defun lsp-completions-status ()
  "Say how things are in this buffer, and why."
  (interactive)
  (pcase-let ((`(,state ,reason) (lsp-completions--state)))
    (message "Suggestions: %s%s" state (if reason (concat ": " reason) ""))))

(defun lsp-completions-why ()
  "Ask the server why there is a suggestion at the cursor or none, and show it."
  (interactive)
  (let ((server (lsp-completions--server))
        (suffix (or (plist-get lsp-completions-settings :commandSuffix) "")))
    (if (not server)
        (lsp-completions-status)
      (lsp-completions--command
       server
       (list :command (concat "lspCompletions.why" suffix)
             :arguments (vector (list :uri (plist-get (lsp-completions-document server) :uri)
                                      :position (lsp-completions-position))))
       (lambda (answer)
         (message "%s" (or (and answer (lsp-completions--get answer "text"))
                           "The server did not answer.")))))))

(defun lsp-completions-restart ()
  "Start the server anew, which reads all settings again."
  (interactive)
  (setq lsp-completions--problem nil)
  (if-let* ((workspace (lsp-completions--in-lsp-mode)))
      (lsp-workspace-restart workspace)
    (lsp-completions-server-restart)))

(declare-function lsp-workspace-restart "lsp-mode")

(defun lsp-completions--in-terminal (name &rest arguments)
  "Run the subcommand NAME of the program with ARGUMENTS in a buffer below."
  (let ((buffer (apply #'make-term (concat "lsp-completions " name)
                       (car lsp-completions-command) nil
                       (append (cdr lsp-completions-command) (cons name arguments)))))
    (pop-to-buffer buffer)
    (term-char-mode)))

(declare-function make-term "term")
(declare-function term-char-mode "term")
(autoload 'make-term "term")

(defun lsp-completions-check ()
  "See what keeps suggestions from coming, from the settings to a completion."
  (interactive)
  (lsp-completions--in-terminal "check"))

(defun lsp-completions-login (instance)
  "Log in to the Sourcegraph INSTANCE, an address."
  (interactive "sAddress of the Sourcegraph instance: ")
  (lsp-completions--in-terminal "login" instance))

(provide 'lsp-completions)
;;; lsp-completions.el ends here
